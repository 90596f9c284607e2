import type { CanvasColours } from '../parts/colours'
import { VERDICTS, type VerdictFills } from '../parts/verdict'
import type { PathModel } from './path_model'
import type { Clock, Waterfall } from './waterfall_model'
import type { Scene } from './waterfall_painter'

// Drawn over the bars of a waterfall: the critical path and the phases.

const PATH_HEIGHT = 10

// Points and edges have aligned times; on the raw clock they shift with their block.
export const shiftOf = (w: Waterfall, block: number, clock: Clock): number =>
  clock === 'raw' ? w.times.raw.start[block]! - w.times.aligned.start[block]! : 0

// Phases: a dashed line through all rows; MarkerBand has the labels.
export function paintMarkers(ctx: CanvasRenderingContext2D, scene: Scene, colours: CanvasColours, left: number, width: number, height: number): void {
  const { w } = scene
  if (w.markers.length === 0) return
  const scale = width / (scene.to - scene.from)
  ctx.strokeStyle = colours.text
  ctx.setLineDash([5, 3])
  ctx.beginPath()
  let before = -1
  for (const marker of w.markers) {
    const x = Math.round(left + (marker.time + shiftOf(w, marker.block, scene.clock) - scene.from) * scale) + 0.5
    if (x === before || x < left || x > left + width) continue
    ctx.moveTo(x, 0)
    ctx.lineTo(x, height)
    before = x
  }
  ctx.stroke()
  ctx.setLineDash([])
}

// The path's segments in this row: a band in the upper half of the bar, filled by verdict. It may extend beyond the bar
// where something waited for the span before it started.
export function paintPath(ctx: CanvasRenderingContext2D, scene: Scene, colours: CanvasColours, fills: VerdictFills, path: PathModel, block: number, left: number, right: number, top: number, scale: number): void {
  const end = path.first[block + 1]!
  let covered = -Infinity
  for (let k = path.first[block]!; k < end; k++) {
    const s = path.order[k]!
    const x0 = left + (path.start[s]! - scene.from) * scale
    const x1 = Math.max(x0 + path.length[s]! * scale, x0 + 1)
    if (x1 < left || x1 <= covered) continue
    if (x0 > right) break
    const a = Math.max(x0, left - 2, covered)
    const b = Math.min(x1, right + 2)
    ctx.fillStyle = fills.of(VERDICTS[path.verdict[s]!]!)
    ctx.fillRect(a, top - 2, b - a, PATH_HEIGHT)
    ctx.fillStyle = colours.text
    ctx.fillRect(a, top - 2, b - a, 1)
    ctx.fillRect(a, top - 3 + PATH_HEIGHT, b - a, 1)
    covered = b < x1 ? b : Math.ceil(x1 * 2) / 2
  }
}

// Paints [from, to] pairs, merging those that share a pixel.
export function paintParts(ctx: CanvasRenderingContext2D, parts: Float64Array, scene: Scene, left: number, right: number, top: number, height: number, scale: number): void {
  let from = NaN
  let to = NaN
  for (let i = 0; i < parts.length; i += 2) {
    const a = left + (parts[i]! - scene.from) * scale
    const b = left + (parts[i + 1]! - scene.from) * scale
    if (b < left) continue
    if (a > right) break
    if (a - to < 1) to = Math.max(to, b)
    else {
      if (from === from) ctx.fillRect(from, top, Math.max(to - from, 1), height)
      from = Math.max(a, left - 2)
      to = Math.min(b, right + 2)
    }
  }
  if (from === from) ctx.fillRect(from, top, Math.max(Math.min(to, right + 2) - from, 1), height)
}
