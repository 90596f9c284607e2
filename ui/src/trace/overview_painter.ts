import { serviceColour, type CanvasColours } from '../parts/colours'
import { duration } from '../parts/format'
import { StandIn, wholeRange, type Clock, type Waterfall } from './waterfall_model'
import { ticks } from './waterfall_painter'

// The whole trace on a strip: one line per depth (deep levels share the last), coloured by service. Rendered once
// per size, clock and theme into a bitmap; moving the view only redraws the shade over it.

const LINES = 14

export function paintOverview(w: Waterfall, clock: Clock, theme: 'light' | 'dark', width: number, height: number, dpr: number): HTMLCanvasElement {
  const canvas = document.createElement('canvas')
  canvas.width = Math.max(1, Math.round(width * dpr))
  canvas.height = Math.max(1, Math.round(height * dpr))
  const ctx = canvas.getContext('2d')!
  ctx.scale(dpr, dpr)
  const { start, duration: length } = w.times[clock]
  const { from, to } = wholeRange(w, clock)
  const scale = width / (to - from)
  let deepest = 0
  for (let i = 0; i < w.count; i++) if (w.depth[i]! > deepest) deepest = w.depth[i]!
  const lines = Math.min(deepest + 1, LINES)
  const lineHeight = height / lines
  const colours = w.strings.map(() => '')
  // The x up to which each line is painted, to paint each pixel once.
  const covered = new Float64Array(lines).fill(-1)
  for (let i = 0; i < w.count; i++) {
    const line = Math.min(w.depth[i]!, lines - 1)
    const a = (start[i]! - from) * scale
    const b = Math.max(a + length[i]! * scale, a + 1)
    if (b <= covered[line]!) continue
    const service = w.service[i]!
    ctx.fillStyle = (w.flags[i]! & StandIn) !== 0 ? '#8a93a0' : (colours[service] ||= serviceColour(w.strings[service]!, theme))
    const x = Math.max(a, covered[line]!)
    ctx.fillRect(x, line * lineHeight, b - x, Math.max(1, lineHeight - 1))
    covered[line] = Math.max(covered[line]!, Math.ceil(b))
  }
  return canvas
}

export function paintShade(ctx: CanvasRenderingContext2D, overview: HTMLCanvasElement, colours: CanvasColours, width: number, height: number, from: number, to: number) {
  ctx.fillStyle = colours.background
  ctx.fillRect(0, 0, width, height)
  ctx.drawImage(overview, 0, 0, width, height)
  const a = from * width
  const b = Math.max(to * width, a + 2)
  ctx.fillStyle = colours.background
  ctx.globalAlpha = 0.72
  ctx.fillRect(0, 0, a, height)
  ctx.fillRect(b, 0, width - b, height)
  ctx.globalAlpha = 1
  if (from > 0.001 || to < 0.999) {
    ctx.fillStyle = colours.accent
    ctx.fillRect(a - 1, 0, 2, height)
    ctx.fillRect(b - 1, 0, 2, height)
  }
}

export function paintRuler(ctx: CanvasRenderingContext2D, colours: CanvasColours, left: number, width: number, height: number, from: number, to: number, origin: number, cursor: number | null) {
  ctx.fillStyle = colours.background
  ctx.fillRect(0, 0, left + width, height)
  ctx.font = '11px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif'
  ctx.textBaseline = 'middle'
  const scale = width / (to - from)
  let free = left
  for (const tick of ticks(from - origin, to - origin, width)) {
    const x = left + (tick + origin - from) * scale
    ctx.fillStyle = colours.line
    ctx.fillRect(Math.round(x), height - 6, 1, 6)
    const label = duration(tick)
    const room = label.length * 7 + 8
    if (x < free || x + room > left + width) continue
    ctx.fillStyle = colours.muted
    ctx.fillText(label, x + 4, height / 2)
    free = x + room
  }
  if (cursor !== null) {
    const x = left + (cursor - from) * scale
    const label = duration(cursor - origin)
    const room = label.length * 7 + 8
    const at = Math.max(left, Math.min(x - room / 2, left + width - room))
    ctx.fillStyle = colours.text
    ctx.fillRect(at, 3, room, height - 6)
    ctx.fillStyle = colours.background
    ctx.fillText(label, at + 5, height / 2)
  }
}
