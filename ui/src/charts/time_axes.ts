import { FONT, linearTicks, timeTicks } from '../parts/axis'
import type { CanvasColours } from '../parts/colours'
import type { Layout } from './layout'

// Time on the x axis, values on the y axis.

export const MARGIN = { left: 68, right: 16, top: 10, bottom: 24 }

interface Scale {
  from: number // ms
  to: number
  min: number
  max: number
  tick: (value: number) => string
}

export function timeScale(plot: Layout['plot'], { from, to, min, max }: Omit<Scale, 'tick'>) {
  return {
    x: (ms: number) => plot.left + ((ms - from) / (to - from || 1)) * (plot.right - plot.left),
    y: (value: number) => plot.bottom - ((value - min) / (max * 1.06 - min)) * (plot.bottom - plot.top),
  }
}

export function paintTimeAxes(ctx: CanvasRenderingContext2D, { width, height, plot }: Layout, scale: Scale, colours: CanvasColours): void {
  const { x, y } = timeScale(plot, scale)
  ctx.font = FONT
  ctx.textBaseline = 'middle'
  ctx.textAlign = 'right'
  for (const v of linearTicks(scale.min, scale.max, 4)) {
    const py = Math.round(y(v))
    ctx.fillStyle = colours.faint
    ctx.fillRect(plot.left, py, plot.right - plot.left, 1)
    ctx.fillStyle = colours.muted
    ctx.fillText(scale.tick(v), plot.left - 8, py)
  }
  ctx.textAlign = 'center'
  for (const { ms, label } of timeTicks(scale.from, scale.to, width / 110)) {
    const px = Math.round(x(ms))
    if (px < plot.left + 16 || px > plot.right - 16) continue
    ctx.fillStyle = colours.faint
    ctx.fillRect(px, plot.top, 1, plot.bottom - plot.top)
    ctx.fillStyle = colours.muted
    ctx.fillText(label, px, height - MARGIN.bottom / 2)
  }
  ctx.textAlign = 'left'
  ctx.fillStyle = colours.line
  ctx.fillRect(plot.left, plot.bottom, plot.right - plot.left, 1)
}
