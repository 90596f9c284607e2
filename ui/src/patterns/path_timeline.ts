import type { Bin } from '../api/paths'
import { FONT, linearTicks } from '../parts/axis'
import { serviceColour, type CanvasColours } from '../parts/colours'
import { duration } from '../parts/format'
import type { PathNode, Pattern } from './patterns_model'

// The mean path over time, one row per node: the light bar is the whole node, the solid parts its own time. Above each bar
// curves show the distributions: outlined, of when the node was called; filled, of when it replied. In a comparison, the
// usual bar is thin and hatched, and its curves are dashed.

export const ROW = 34
export const AXIS = 24
const HILL = 13
const PAD = 10

export interface TimelineScene {
  pattern: Pattern
  others: (PathNode | null)[] | null // the same nodes in the usual window
  marked: number
  selected: number
  hovered: number
  width: number
  height: number
  top: number // pixels scrolled
  labels: number // width of the names left of the axis, for saved pictures
}

export function timelineEnd(pattern: Pattern, others: (PathNode | null)[] | null): number {
  let end = 1
  const reach = (n: PathNode) => {
    const bins = n.spread?.latency ?? []
    const total = bins.reduce((s, b) => s + b[2], 0)
    let seen = 0
    let p99 = 0
    // Up to p99: one outlier would squeeze everything else.
    for (const [, until, count] of bins) {
      if (seen < total * 0.99) p99 = until
      seen += count
    }
    end = Math.max(end, n.start + n.latency, n.start + p99)
  }
  pattern.nodes.forEach(reach)
  others?.forEach((n) => n && reach(n))
  return end * 1.04
}

// The parts of a node's mean time that none of its calls covers.
function ownParts(nodes: PathNode[], i: number): [number, number][] {
  const n = nodes[i]!
  const covered: [number, number][] = []
  for (let c = i + 1; c < n.end; c = nodes[c]!.end) covered.push([nodes[c]!.start, nodes[c]!.start + nodes[c]!.latency])
  covered.sort((a, b) => a[0] - b[0])
  const out: [number, number][] = []
  let at = n.start
  for (const [from, until] of covered) {
    if (from > at) out.push([at, Math.min(from, n.start + n.latency)])
    at = Math.max(at, until)
  }
  if (at < n.start + n.latency) out.push([at, n.start + n.latency])
  return out.filter(([a, b]) => b > a)
}

export function paintTimeline(ctx: CanvasRenderingContext2D, colours: CanvasColours, scene: TimelineScene): void {
  const { pattern, others, width, height, labels } = scene
  ctx.fillStyle = colours.background
  ctx.fillRect(0, 0, width, height)
  const end = timelineEnd(pattern, others)
  const left = labels + PAD
  const scale = (width - left - PAD) / end
  const x = (t: number) => left + t * scale
  const first = Math.max(0, Math.floor(scene.top / ROW))
  const last = Math.min(pattern.nodes.length, Math.ceil((scene.top + height - AXIS) / ROW))
  const ticks = linearTicks(0, end, Math.max(2, Math.floor((width - left) / 110)))
  ctx.save()
  ctx.beginPath()
  ctx.rect(0, AXIS, width, height - AXIS)
  ctx.clip()
  for (let i = first; i < last; i++) {
    const y = AXIS + i * ROW - scene.top
    if (i === scene.selected) ctx.fillStyle = colours.accentSoft
    else if (i === scene.hovered || i % 2) ctx.fillStyle = colours.stripe
    else continue
    ctx.fillRect(0, y, width, ROW)
  }
  ctx.fillStyle = colours.faint
  for (const t of ticks) ctx.fillRect(Math.round(x(t)), AXIS, 1, height)
  for (let i = first; i < last; i++) paintRow(ctx, colours, scene, i, AXIS + i * ROW - scene.top, x, scale)
  ctx.restore()
  paintAxis(ctx, colours, ticks, x, width, left)
}

function paintAxis(ctx: CanvasRenderingContext2D, colours: CanvasColours, ticks: number[], x: (t: number) => number, width: number, left: number) {
  ctx.fillStyle = colours.line
  ctx.fillRect(0, AXIS - 1, width, 1)
  ctx.font = FONT
  ctx.textBaseline = 'middle'
  ctx.fillStyle = colours.muted
  for (const t of ticks) {
    const label = t === 0 ? '0' : duration(t)
    const w = ctx.measureText(label).width
    ctx.fillText(label, Math.max(left - PAD + 2, Math.min(x(t) - w / 2, width - w - 2)), AXIS / 2)
  }
}

function paintRow(ctx: CanvasRenderingContext2D, colours: CanvasColours, scene: TimelineScene, i: number, y: number, x: (t: number) => number, scale: number) {
  const { nodes } = scene.pattern
  const n = nodes[i]!
  const other = scene.others?.[i] ?? null
  const colour = serviceColour(n.node, colours.theme)
  const barTop = y + HILL + 3
  const barHeight = scene.others ? 8 : 12
  const x0 = x(n.start)
  const whole = Math.max(1, n.latency * scale)
  if (scene.labels > 0) {
    ctx.fillStyle = colours.text
    ctx.font = FONT
    ctx.textBaseline = 'middle'
    ctx.fillText(`${n.node}${i === scene.marked ? ' ◀' : ''}`, 10 + n.depth * 12, barTop + barHeight / 2, scene.labels - 12 - n.depth * 12)
  }
  // A line from the caller to the call.
  if (n.parent >= 0) {
    ctx.fillStyle = colours.line
    ctx.fillRect(Math.round(x0), y - 4, 1, barTop - y + 4)
  }
  const parentStart = n.parent < 0 ? 0 : nodes[n.parent]!.start
  const base = barTop - 1
  if (other) {
    const otherParent = n.parent < 0 ? 0 : scene.others![n.parent]?.start ?? parentStart
    paintHill(ctx, other.spread?.callDelay, otherParent, x, base, colours.muted, 'dashed')
    paintHill(ctx, other.spread?.latency, other.start, x, base, colours.muted, 'dashed')
  }
  if (n.parent >= 0) paintHill(ctx, n.spread?.callDelay, parentStart, x, base, colour, 'line')
  paintHill(ctx, n.spread?.latency, n.start, x, base, colour, 'filled')
  ctx.fillStyle = colour
  ctx.globalAlpha = 0.3
  ctx.fillRect(x0, barTop, whole, barHeight)
  ctx.globalAlpha = 1
  for (const [a, b] of ownParts(nodes, i)) ctx.fillRect(x(a), barTop, Math.max(1, (b - a) * scale), barHeight)
  if (i === scene.marked) {
    ctx.strokeStyle = colours.text
    ctx.lineWidth = 1.5
    ctx.strokeRect(x0 - 1, barTop - 1, whole + 2, barHeight + 2)
    ctx.lineWidth = 1
  }
  if (n.afterReply) {
    ctx.strokeStyle = colours.warn
    ctx.setLineDash([3, 2])
    ctx.strokeRect(x0 - 0.5, barTop - 0.5, whole + 1, barHeight + 1)
    ctx.setLineDash([])
  }
  if (!other) return
  const thin = barTop + barHeight + 2
  const ox = x(other.start)
  const ow = Math.max(1, other.latency * scale)
  ctx.strokeStyle = colours.muted
  ctx.save()
  ctx.beginPath()
  ctx.rect(ox, thin, ow, 5)
  ctx.clip()
  ctx.beginPath()
  for (let h = ox - 5; h < ox + ow; h += 4) {
    ctx.moveTo(h, thin + 5)
    ctx.lineTo(h + 5, thin)
  }
  ctx.stroke()
  ctx.restore()
  ctx.strokeRect(ox + 0.5, thin + 0.5, Math.max(0, ow - 1), 4)
}

// A smoothed curve of the distribution; unsmoothed, narrow bins and few requests would look like needles.
const KERNEL = [1, 3, 6, 8, 6, 3, 1]

function paintHill(ctx: CanvasRenderingContext2D, bins: Bin[] | undefined, origin: number, x: (t: number) => number, base: number, colour: string, how: 'line' | 'filled' | 'dashed') {
  if (!bins || bins.length === 0) return
  const half = KERNEL.length >> 1
  const left = Math.floor(x(origin + bins[0]![0])) - half - 1
  const right = Math.ceil(x(origin + bins.at(-1)![1])) + half + 1
  const raw = new Float64Array(Math.max(1, right - left + 1))
  for (const [from, until, n] of bins) {
    const a = x(origin + from) - left
    const b = Math.max(a + 1e-6, x(origin + until) - left)
    for (let px = Math.floor(a); px <= Math.floor(b) && px < raw.length; px++) raw[px]! += (n * (Math.min(b, px + 1) - Math.max(a, px))) / (b - a)
  }
  const smooth = raw.map((_, px) => KERNEL.reduce((sum, k, i) => sum + k * (raw[px + i - half] ?? 0), 0))
  const max = smooth.reduce((m, v) => Math.max(m, v), 0)
  ctx.beginPath()
  let down = true // at zero: nothing is drawn between two peaks
  smooth.forEach((v, px) => {
    const y = base - HILL * (v / max)
    if (v <= max * 0.002) {
      if (!down) ctx.lineTo(left + px, base)
      down = true
      return
    }
    if (down) ctx.moveTo(left + px - 1, base)
    down = false
    ctx.lineTo(left + px + 0.5, y)
  })
  ctx.strokeStyle = colour
  if (how === 'filled') {
    ctx.fillStyle = colour
    ctx.globalAlpha = 0.28
    ctx.fill()
    ctx.globalAlpha = 1
  }
  if (how === 'dashed') ctx.setLineDash([2, 2])
  ctx.stroke()
  ctx.setLineDash([])
}
