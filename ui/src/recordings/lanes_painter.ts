import { paletteColour, type CanvasColours } from '../parts/colours'
import { FONT } from '../parts/axis'
import { endOf, type Lanes } from './lanes_model'

export const LANE = 30
const BAR = 16

export interface LanesScene {
  lanes: Lanes
  duration: number
  from: number
  to: number
  selected: string | null
  hovered: string | null
  lineage: Map<string, boolean> | null // by id: true if found only through an unordered step
}

// Draws only lanes and times in view, and sub-computations that share a pixel once.
export function paintLanes(ctx: CanvasRenderingContext2D, scene: LanesScene, colours: CanvasColours, width: number, height: number, scrollTop: number): void {
  ctx.fillStyle = colours.background
  ctx.fillRect(0, 0, width, height)
  ctx.font = FONT
  ctx.textBaseline = 'middle'
  const { lanes } = scene
  const scale = width / (scene.to - scene.from)
  const x = (time: number) => (time - scene.from) * scale
  const first = Math.max(0, Math.floor(scrollTop / LANE))
  const last = Math.min(lanes.lanes.length, Math.ceil((scrollTop + height) / LANE))
  for (let i = first; i < last; i++) {
    const lane = lanes.lanes[i]!
    const y = i * LANE - scrollTop
    if (i % 2 === 1) {
      ctx.fillStyle = colours.stripe
      ctx.fillRect(0, y, width, LANE)
    }
    let painted = -1
    for (const sub of lane.subs) {
      const end = endOf(sub, scene.duration)
      const x0 = x(sub.start_ns)
      if (x0 > width) break
      const x1 = x(end)
      const x2 = x(end + sub.wait_ns)
      if (x2 < painted && x2 < 0) continue
      const a = Math.max(x0, 0)
      const dim = scene.lineage !== null && !scene.lineage.has(sub.id)
      ctx.globalAlpha = dim ? 0.18 : 1
      if (x1 >= 0 && (x1 > painted || sub.id === scene.selected)) {
        ctx.fillStyle = paletteColour(lane.thread, colours.theme)
        ctx.fillRect(a, y + (LANE - BAR) / 2, Math.max(Math.min(x1, width) - a, 1), BAR)
        painted = Math.max(painted, a + 1)
      }
      if (sub.wait_ns > 0 && x2 - Math.max(x1, 0) >= 1) {
        paintWait(ctx, colours, Math.max(x1, 0), y, Math.min(x2, width))
        const label = sub.sync?.op ?? ''
        if (Math.min(x2, width) - Math.max(x1, 0) > label.length * 6.5 + 12) {
          ctx.fillStyle = colours.text
          ctx.fillText(label, Math.max(x1, 0) + 6, y + LANE / 2)
        }
      }
      if (sub.id === scene.selected || sub.id === scene.hovered) {
        ctx.globalAlpha = 1
        ctx.strokeStyle = sub.id === scene.selected ? colours.accent : colours.text
        ctx.lineWidth = sub.id === scene.selected ? 2 : 1
        ctx.strokeRect(a + 0.5, y + (LANE - BAR) / 2 - 1.5, Math.max(Math.min(x1, width) - a, 2), BAR + 3)
        ctx.lineWidth = 1
      }
    }
    ctx.globalAlpha = 1
  }
  paintEdges(ctx, scene, colours, x, scrollTop, width, height)
}

// Waits are hatched, so that they can be read without colour.
function paintWait(ctx: CanvasRenderingContext2D, colours: CanvasColours, from: number, y: number, to: number): void {
  const top = y + (LANE - BAR) / 2
  ctx.save()
  ctx.beginPath()
  ctx.rect(from, top, to - from, BAR)
  ctx.clip()
  ctx.fillStyle = colours.faint
  ctx.fillRect(from, top, to - from, BAR)
  ctx.strokeStyle = colours.verdicts.queue
  ctx.globalAlpha *= 0.45
  ctx.beginPath()
  for (let at = Math.floor(from / 8) * 8 - BAR; at < to; at += 8) {
    ctx.moveTo(at, top + BAR)
    ctx.lineTo(at + BAR, top)
  }
  ctx.stroke()
  ctx.restore()
}

const MAX_EDGES = 1500

// All edges of the selection; without one, sync edges, unless there are too many to distinguish.
function paintEdges(ctx: CanvasRenderingContext2D, scene: LanesScene, colours: CanvasColours, x: (time: number) => number, scrollTop: number, width: number, height: number): void {
  const shown = scene.lanes.edges.filter((edge) => {
    if (scene.selected) return edge.from === scene.selected || edge.to === scene.selected
    if (edge.kind !== 'sync') return false
    const b = x(scene.lanes.byId.get(edge.to)!.sub.start_ns)
    return b >= 0 && b <= width
  })
  if (!scene.selected && shown.length > MAX_EDGES) return
  for (const edge of shown) {
    const from = scene.lanes.byId.get(edge.from)!
    const to = scene.lanes.byId.get(edge.to)!
    const x0 = x(endOf(from.sub, scene.duration))
    const x1 = x(to.sub.start_ns)
    const y0 = from.lane * LANE + LANE / 2 - scrollTop
    const y1 = to.lane * LANE + LANE / 2 - scrollTop
    if ((y0 < -LANE && y1 < -LANE) || (y0 > height + LANE && y1 > height + LANE)) continue
    ctx.strokeStyle = scene.selected ? colours.accent : colours.muted
    ctx.globalAlpha = scene.selected ? 0.95 : 0.5
    ctx.setLineDash(edge.kind === 'data' ? [4, 3] : [])
    ctx.beginPath()
    ctx.moveTo(x0, y0)
    ctx.bezierCurveTo(x0 + 12, y0, x1 - 12, y1, x1, y1)
    ctx.stroke()
    ctx.setLineDash([])
    ctx.fillStyle = ctx.strokeStyle
    ctx.beginPath()
    ctx.moveTo(x1, y1)
    ctx.lineTo(x1 - 6, y1 - 3)
    ctx.lineTo(x1 - 6, y1 + 3)
    ctx.fill()
  }
  ctx.globalAlpha = 1
}
