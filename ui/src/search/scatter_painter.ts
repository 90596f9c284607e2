import { serviceColour, type CanvasColours } from '../parts/colours'
import { timeTicks } from '../parts/axis'
import { duration } from '../parts/format'
import type { TraceSummary } from '../api/types'

// Latency over time. Colour is the root's service. Shape shows errors (triangle) and incomplete traces (outlined), so
// that the chart can be read without colour.

export interface Axes {
  fromMs: number
  toMs: number
  minNs: number
  maxNs: number
  log: boolean
}

export interface Plot {
  axes: Axes
  width: number
  height: number
}

export const MARGIN = { left: 64, right: 16, top: 10, bottom: 22 }
const FONT = '11px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif'

export const timeMs = (t: TraceSummary): number => Number(t.start_ns / 1000n) / 1000

export function axesFor(traces: TraceSummary[], fromMs: number | null, toMs: number, log: boolean): Axes {
  let min = Infinity
  let max = 1
  let first = Infinity
  let last = -Infinity
  for (const t of traces) {
    if (t.duration_ns > 0 && t.duration_ns < min) min = t.duration_ns
    if (t.duration_ns > max) max = t.duration_ns
    first = Math.min(first, timeMs(t))
    last = Math.max(last, timeMs(t))
  }
  if (min === Infinity) min = 1
  const air = Math.max((last - first) * 0.03, 50)
  return {
    fromMs: fromMs ?? first - air,
    toMs: fromMs === null ? last + air : Math.max(toMs, last),
    minNs: log ? 10 ** Math.floor(Math.log10(min)) : 0,
    maxNs: log ? Math.max(max * 1.3, min * 10) : max * 1.08,
    log,
  }
}

export const xOf = (p: Plot, ms: number): number =>
  MARGIN.left + ((ms - p.axes.fromMs) / (p.axes.toMs - p.axes.fromMs || 1)) * (p.width - MARGIN.left - MARGIN.right)

export function yOf(p: Plot, ns: number): number {
  const { axes } = p
  const share = axes.log
    ? Math.log(Math.max(ns, axes.minNs) / axes.minNs) / Math.log(axes.maxNs / axes.minNs)
    : ns / axes.maxNs
  return p.height - MARGIN.bottom - share * (p.height - MARGIN.top - MARGIN.bottom)
}

export function timeAt(p: Plot, x: number): number {
  return p.axes.fromMs + ((x - MARGIN.left) / (p.width - MARGIN.left - MARGIN.right)) * (p.axes.toMs - p.axes.fromMs)
}

export function durationAt(p: Plot, y: number): number {
  const { axes } = p
  const share = Math.max(0, (p.height - MARGIN.bottom - y) / (p.height - MARGIN.top - MARGIN.bottom))
  return axes.log ? axes.minNs * (axes.maxNs / axes.minNs) ** share : share * axes.maxNs
}

export function paintScatter(
  ctx: CanvasRenderingContext2D,
  p: Plot,
  traces: TraceSummary[],
  colours: CanvasColours,
  hovered: TraceSummary | null,
  region: { x0: number; y0: number; x1: number; y1: number } | null,
): void {
  ctx.fillStyle = colours.background
  ctx.fillRect(0, 0, p.width, p.height)
  paintAxes(ctx, p, colours)
  if (region) {
    ctx.fillStyle = colours.accentSoft
    ctx.fillRect(region.x0, region.y0, region.x1 - region.x0, region.y1 - region.y0)
    ctx.strokeStyle = colours.accent
    ctx.strokeRect(region.x0 + 0.5, region.y0 + 0.5, region.x1 - region.x0 - 1, region.y1 - region.y0 - 1)
  }
  for (const t of traces) paintMark(ctx, p, t, colours, 0.72)
  if (hovered) {
    ctx.strokeStyle = colours.text
    ctx.lineWidth = 1.5
    ctx.beginPath()
    ctx.arc(xOf(p, timeMs(hovered)), yOf(p, hovered.duration_ns), 8, 0, 7)
    ctx.stroke()
    ctx.lineWidth = 1
    paintMark(ctx, p, hovered, colours, 1)
  }
}

function paintMark(ctx: CanvasRenderingContext2D, p: Plot, t: TraceSummary, colours: CanvasColours, alpha: number) {
  const x = xOf(p, timeMs(t))
  const y = yOf(p, t.duration_ns)
  ctx.globalAlpha = alpha
  ctx.beginPath()
  if (t.errors > 0) {
    ctx.moveTo(x, y - 5)
    ctx.lineTo(x + 5, y + 4)
    ctx.lineTo(x - 5, y + 4)
    ctx.closePath()
    ctx.fillStyle = colours.bad
    ctx.globalAlpha = Math.min(1, alpha + 0.2)
  } else {
    ctx.arc(x, y, 3.5, 0, 7)
    ctx.fillStyle = serviceColour(t.service, colours.theme)
  }
  if (t.complete) ctx.fill()
  else {
    ctx.strokeStyle = ctx.fillStyle
    ctx.lineWidth = 1.5
    ctx.stroke()
    ctx.lineWidth = 1
  }
  ctx.globalAlpha = 1
}

function paintAxes(ctx: CanvasRenderingContext2D, p: Plot, colours: CanvasColours) {
  ctx.font = FONT
  ctx.textBaseline = 'middle'
  ctx.textAlign = 'right'
  for (const ns of durationTicks(p.axes)) {
    const y = Math.round(yOf(p, ns))
    if (y < MARGIN.top - 2) continue
    ctx.fillStyle = colours.faint
    ctx.fillRect(MARGIN.left, y, p.width - MARGIN.left - MARGIN.right, 1)
    ctx.fillStyle = colours.muted
    ctx.fillText(duration(ns), MARGIN.left - 8, y)
  }
  ctx.textAlign = 'center'
  for (const { ms, label } of timeTicks(p.axes.fromMs, p.axes.toMs, p.width / 110)) {
    const x = Math.round(xOf(p, ms))
    if (x < MARGIN.left + 20 || x > p.width - 24) continue
    ctx.fillStyle = colours.faint
    ctx.fillRect(x, MARGIN.top, 1, p.height - MARGIN.top - MARGIN.bottom)
    ctx.fillStyle = colours.muted
    ctx.fillText(label, x, p.height - MARGIN.bottom / 2)
  }
  ctx.textAlign = 'left'
  ctx.fillStyle = colours.line
  ctx.fillRect(MARGIN.left, p.height - MARGIN.bottom, p.width - MARGIN.left - MARGIN.right, 1)
}

function durationTicks(axes: Axes): number[] {
  if (!axes.log) {
    const rough = axes.maxNs / 4
    const power = 10 ** Math.floor(Math.log10(rough))
    const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough) ?? rough
    return Array.from({ length: 6 }, (_, k) => k * step).filter((v) => v <= axes.maxNs)
  }
  const out: number[] = []
  const decades = Math.log10(axes.maxNs / axes.minNs)
  for (let v = axes.minNs; v <= axes.maxNs; v *= 10) {
    out.push(v)
    if (decades < 3.2 && v * 3 <= axes.maxNs) out.push(v * 3)
  }
  return out
}
