import { coloursVersion, serviceColour, type CanvasColours } from '../parts/colours'
import { duration } from '../parts/format'
import { VerdictFills } from '../parts/verdict'
import type { PathModel } from './path_model'
import { TextFitter } from './text_fitter'
import { busyParts } from './unit_rows'
import { Asynchronous, canFold, depthAt, Inferred, ownParts, Repaired, StandIn, type Clock, type Rows, type Waterfall } from './waterfall_model'
import { paintMarkers, paintParts, paintPath, shiftOf } from './waterfall_overlays'

// Draws the visible rows of a waterfall. The budget is one frame at 60 Hz on one software-rendered core, so:
// only rows inside the viewport are touched, nothing is measured twice (ellipsised labels are cached by string
// and width), own-time parts are computed once per block, and pieces below a pixel are merged before drawing.

export const ROW = 24
const BAR_TOP = 5
const BAR_HEIGHT = 14
const INDENT = 12
// 'middle' is the middle of the em square; lower-case text looks centred half a pixel below it.
const NUDGE = 0.5
const FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif'
const SMALL = '11px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif'

export interface Scene {
  w: Waterfall
  rows: Rows
  folded: ReadonlySet<number>
  clock: Clock
  // The visible time range, in ns relative to the trace's start.
  from: number
  to: number
  selected: number
  hovered: number
  matches: Uint8Array | null
  // The critical path, drawn into the bars it goes through.
  path: PathModel | null
  treeWidth: number
  // The time at the pointer, for a hair line.
  cursor: number | null
}

export function indentOf(depth: number): number {
  // After ten levels indents are smaller, so that names of deep chains stay in the column.
  return INDENT * Math.min(depth, 10) + 2 * Math.min(Math.max(depth - 10, 0), 30)
}

export class WaterfallPainter {
  private text = new TextFitter()
  private parts = new Map<number, Float64Array>()
  private busy = new WeakMap<Int32Array, Float64Array>()
  private fills: VerdictFills | null = null
  private partsClock: Clock = 'aligned'
  private colourOf = new Map<number, string>()
  private theme = ''
  private version = -1

  constructor(private readonly w: Waterfall) {}

  paint(ctx: CanvasRenderingContext2D, scene: Scene, colours: CanvasColours, width: number, height: number, scrollTop: number): void {
    if (this.partsClock !== scene.clock) {
      this.parts.clear()
      this.busy = new WeakMap()
      this.partsClock = scene.clock
    }
    if (this.theme !== colours.theme || this.version !== coloursVersion()) {
      this.colourOf.clear()
      this.theme = colours.theme
      this.version = coloursVersion()
      this.fills = null
    }
    this.fills ??= new VerdictFills(ctx, colours.verdicts, colours.background)
    ctx.fillStyle = colours.background
    ctx.fillRect(0, 0, width, height)
    const first = Math.max(0, Math.floor(scrollTop / ROW))
    const last = Math.min(scene.rows.blocks.length, Math.ceil((scrollTop + height) / ROW))
    const timeLeft = scene.treeWidth
    const timeWidth = width - timeLeft

    this.paintStripes(ctx, scene, colours, width, first, last, scrollTop)
    this.paintGrid(ctx, scene, colours, timeLeft, timeWidth, height)
    ctx.save()
    ctx.beginPath()
    ctx.rect(timeLeft, 0, timeWidth, height)
    ctx.clip()
    ctx.textBaseline = 'middle'
    for (let row = first; row < last; row++) {
      const block = scene.rows.blocks[row]!
      if (block < 0) this.paintBusy(ctx, scene, colours, -1 - block, row * ROW - scrollTop, timeLeft, timeWidth)
      else this.paintBar(ctx, scene, colours, block, row * ROW - scrollTop, timeLeft, timeWidth)
    }
    paintMarkers(ctx, scene, colours, timeLeft, timeWidth, height)
    if (scene.cursor !== null) {
      ctx.fillStyle = colours.muted
      ctx.globalAlpha = 0.5
      ctx.fillRect(Math.round(timeLeft + ((scene.cursor - scene.from) / (scene.to - scene.from)) * timeWidth), 0, 1, height)
      ctx.globalAlpha = 1
    }
    if (scene.selected >= 0) this.paintEdges(ctx, scene, colours, timeLeft, timeWidth, height, scrollTop)
    ctx.restore()
    ctx.textBaseline = 'middle'
    for (let row = first; row < last; row++) {
      const block = scene.rows.blocks[row]!
      if (block < 0) this.paintHeading(ctx, scene, colours, -1 - block, row * ROW - scrollTop)
      else this.paintTreeCell(ctx, scene, colours, block, depthAt(this.w, scene.rows, row), row * ROW - scrollTop)
    }
    ctx.fillStyle = colours.line
    ctx.fillRect(timeLeft - 1, 0, 1, height)
  }

  private colour(service: number): string {
    let c = this.colourOf.get(service)
    if (!c) {
      c = serviceColour(this.w.strings[service]!, this.theme === 'dark' ? 'dark' : 'light')
      this.colourOf.set(service, c)
    }
    return c
  }

  private paintStripes(ctx: CanvasRenderingContext2D, scene: Scene, colours: CanvasColours, width: number, first: number, last: number, scrollTop: number) {
    ctx.fillStyle = colours.stripe
    for (let row = first + (first & 1); row < last; row += 2) ctx.fillRect(0, row * ROW - scrollTop, width, ROW)
    for (let row = first; row < last; row++) {
      const block = scene.rows.blocks[row]!
      const y = row * ROW - scrollTop
      if (block < 0) {
        ctx.fillStyle = colours.faint
        ctx.fillRect(0, y, width, ROW)
      } else if (block === scene.selected) {
        ctx.fillStyle = colours.accentSoft
        ctx.fillRect(0, y, width, ROW)
        ctx.fillStyle = colours.accent
        ctx.fillRect(0, y, 3, ROW)
      } else if (block === scene.hovered) {
        ctx.fillStyle = colours.faint
        ctx.fillRect(0, y, width, ROW)
      }
    }
  }

  private paintGrid(ctx: CanvasRenderingContext2D, scene: Scene, colours: CanvasColours, left: number, width: number, height: number) {
    ctx.fillStyle = colours.faint
    for (const tick of ticks(scene.from, scene.to, width)) {
      ctx.fillRect(Math.round(left + ((tick - scene.from) / (scene.to - scene.from)) * width), 0, 1, height)
    }
  }

  // The heading of a group of rows: its name and number of spans; paintBusy draws when it was busy.
  private paintHeading(ctx: CanvasRenderingContext2D, scene: Scene, colours: CanvasColours, g: number, y: number) {
    const group = scene.rows.groups[g]!
    const mid = y + ROW / 2
    paintTriangle(ctx, 8, mid, colours.muted, group.shut)
    const note = String(group.members.length)
    ctx.font = SMALL
    ctx.fillStyle = colours.muted
    ctx.textAlign = 'right'
    ctx.fillText(note, scene.treeWidth - 8, mid + NUDGE)
    ctx.textAlign = 'left'
    ctx.font = `600 ${FONT}`
    ctx.fillStyle = colours.text
    ctx.fillText(this.text.fit(ctx, group.label, Math.max(12, scene.treeWidth - 24 - note.length * 7 - 14)), 22, mid + NUDGE)
    ctx.font = FONT
  }

  private paintBusy(ctx: CanvasRenderingContext2D, scene: Scene, colours: CanvasColours, g: number, y: number, left: number, width: number) {
    const { members } = scene.rows.groups[g]!
    let parts = this.busy.get(members)
    if (!parts) {
      parts = busyParts(this.w, members, scene.clock)
      this.busy.set(members, parts)
    }
    ctx.fillStyle = colours.muted
    paintParts(ctx, parts, scene, left, left + width, y + ROW / 2 - 2, 4, width / (scene.to - scene.from))
  }

  private paintTreeCell(ctx: CanvasRenderingContext2D, scene: Scene, colours: CanvasColours, block: number, depth: number, y: number) {
    const { w } = this
    const x = 8 + indentOf(depth)
    const mid = y + ROW / 2
    ctx.fillStyle = colours.faint
    for (let d = 0; d < depth && d < 10; d++) ctx.fillRect(8 + indentOf(d) + 5, y, 1, ROW)
    if (canFold(w, scene.rows, block)) paintTriangle(ctx, x, mid, colours.muted, scene.folded.has(block))
    ctx.fillStyle = (w.flags[block]! & StandIn) !== 0 ? colours.muted : this.colour(w.service[block]!)
    ctx.fillRect(x + 14, mid - 6, 3, 12)
    let textX = x + 22
    if (w.status[block] === 2) {
      paintErrorMark(ctx, textX + 5, mid, colours.bad)
      textX += 15
    }
    let space = scene.treeWidth - textX - 8
    if (scene.folded.has(block)) {
      const hidden = `+${scene.rows.hidden ? scene.rows.hidden[block]! : w.subtreeEnd[block]! - block - 1}`
      ctx.font = SMALL
      ctx.fillStyle = colours.accent
      ctx.textAlign = 'right'
      ctx.fillText(hidden, scene.treeWidth - 8, mid)
      ctx.textAlign = 'left'
      space -= hidden.length * 7 + 6
    }
    if (space < 12) return
    if (scene.matches?.[block]) {
      ctx.fillStyle = colours.warn
      ctx.globalAlpha = 0.22
      ctx.fillRect(textX - 3, y + 3, space + 4, ROW - 6)
      ctx.globalAlpha = 1
    }
    ctx.font = FONT
    // The service name shows only where it changes; otherwise the colour strip shows it.
    const parent = w.parent[block]!
    const newService = parent < 0 || w.service[parent] !== w.service[block] || (scene.rows.depth !== null && depth === 1)
    ctx.fillStyle = (w.flags[block]! & StandIn) !== 0 ? colours.muted : colours.text
    if (newService) {
      const service = this.text.fit(ctx, w.strings[w.service[block]!]!, Math.min(space, Math.max(48, space * 0.5)))
      ctx.font = `600 ${FONT}`
      ctx.fillText(service, textX, mid + NUDGE)
      const used = this.text.width(ctx, service) + 6
      ctx.font = FONT
      textX += used
      space -= used
      ctx.fillStyle = colours.muted
    }
    if (space > 14) ctx.fillText(this.text.fit(ctx, w.strings[w.name[block]!]!, space), textX, mid + NUDGE)
  }

  private paintBar(ctx: CanvasRenderingContext2D, scene: Scene, colours: CanvasColours, block: number, y: number, left: number, width: number) {
    const { w } = this
    const { start, duration: length } = w.times[scene.clock]
    const scale = width / (scene.to - scene.from)
    const x0 = left + (start[block]! - scene.from) * scale
    const x1 = left + (start[block]! + length[block]! - scene.from) * scale
    const top = y + BAR_TOP
    const flags = w.flags[block]!
    const right = left + width
    const colour = (flags & StandIn) !== 0 ? colours.muted : this.colour(w.service[block]!)
    if (x1 >= left && x0 <= right) {
      const a = Math.max(x0, left - 2)
      const b = Math.max(Math.min(x1, right + 2), a + 1)
      const standIn = (flags & StandIn) !== 0
      ctx.fillStyle = colour
      ctx.globalAlpha = standIn ? 0.14 : 0.34
      ctx.fillRect(a, top, b - a, BAR_HEIGHT)
      ctx.globalAlpha = 1
      if (!standIn) this.paintOwnParts(ctx, scene, block, left, right, top, scale)
      const inferred = (flags & Inferred) !== 0
      if (standIn || inferred || (flags & Repaired) !== 0) {
        ctx.strokeStyle = standIn ? colours.muted : inferred ? colours.text : colours.warn
        ctx.setLineDash([3, 2])
        ctx.strokeRect(a + 0.5, top + 0.5, Math.max(b - a - 1, 1), BAR_HEIGHT - 1)
        ctx.setLineDash([])
      }
      if (w.status[block] === 2) {
        ctx.fillStyle = colours.bad
        ctx.fillRect(a, top + BAR_HEIGHT - 3, b - a, 3)
      }
      if ((flags & Asynchronous) !== 0) {
        // A notch at the start: the parent does not wait for this work.
        ctx.fillStyle = colours.background
        ctx.beginPath()
        ctx.moveTo(a, top)
        ctx.lineTo(a + 5, top + BAR_HEIGHT / 2)
        ctx.lineTo(a, top + BAR_HEIGHT)
        ctx.fill()
      }
      if (scene.folded.has(block) && !scene.rows.depth) this.paintFolded(ctx, scene, colours, block, left, right, top, scale)
      if (scene.path) paintPath(ctx, scene, colours, this.fills!, scene.path, block, left, right, top, scale)
      this.paintPoints(ctx, scene, colours, block, left, right, top, scale)
    } else if (scene.path) paintPath(ctx, scene, colours, this.fills!, scene.path, block, left, right, top, scale)
    this.paintDuration(ctx, colours, duration(length[block]!), x0, x1, left, right, y + ROW / 2 + NUDGE)
  }

  private paintOwnParts(ctx: CanvasRenderingContext2D, scene: Scene, block: number, left: number, right: number, top: number, scale: number) {
    let parts = this.parts.get(block)
    if (!parts) {
      parts = ownParts(this.w, block, scene.clock)
      this.parts.set(block, parts)
    }
    paintParts(ctx, parts, scene, left, right, top, BAR_HEIGHT, scale)
  }

  // The blocks that a folded row hides, as a strip under its bar.
  private paintFolded(ctx: CanvasRenderingContext2D, scene: Scene, colours: CanvasColours, block: number, left: number, right: number, top: number, scale: number) {
    const { start, duration: length } = this.w.times[scene.clock]
    ctx.fillStyle = colours.muted
    let covered = left - 1
    for (let c = block + 1; c < this.w.subtreeEnd[block]!; c++) {
      const a = left + (start[c]! - scene.from) * scale
      const b = Math.max(left + (start[c]! + length[c]! - scene.from) * scale, a + 1)
      if (b <= covered || a > right) continue
      ctx.fillRect(Math.max(a, covered, left), top + BAR_HEIGHT + 1, Math.min(b, right) - Math.max(a, covered, left), 2)
      covered = Math.max(covered, Math.ceil(b))
    }
  }

  private paintPoints(ctx: CanvasRenderingContext2D, scene: Scene, colours: CanvasColours, block: number, left: number, right: number, top: number, scale: number) {
    const { w } = this
    const end = w.pointFirst[block + 1]!
    const zero = scene.from - shiftOf(this.w, block, scene.clock)
    let i = w.pointFirst[block]!
    while (i < end) {
      const x = left + (w.pointTime[w.pointOrder[i]!]! - zero) * scale
      let merged = 1
      while (i + merged < end && left + (w.pointTime[w.pointOrder[i + merged]!]! - zero) * scale - x < 5) merged++
      i += merged
      if (x < left - 4 || x > right + 4) continue
      const mid = top + BAR_HEIGHT / 2
      ctx.fillStyle = colours.background
      ctx.strokeStyle = colours.text
      ctx.beginPath()
      ctx.moveTo(x, mid - 4.5)
      ctx.lineTo(x + 4.5, mid)
      ctx.lineTo(x, mid + 4.5)
      ctx.lineTo(x - 4.5, mid)
      ctx.closePath()
      ctx.fill()
      ctx.stroke()
      if (merged > 1) {
        ctx.font = SMALL
        ctx.fillStyle = colours.text
        ctx.fillText(`×${merged}`, x + 7, mid)
      }
    }
  }

  private paintDuration(ctx: CanvasRenderingContext2D, colours: CanvasColours, text: string, x0: number, x1: number, left: number, right: number, mid: number) {
    ctx.font = SMALL
    ctx.fillStyle = colours.muted
    if (x1 < left) {
      ctx.fillText(`◂ ${text}`, left + 6, mid)
      return
    }
    if (x0 > right) {
      ctx.textAlign = 'right'
      ctx.fillText(`${text} ▸`, right - 6, mid)
      ctx.textAlign = 'left'
      return
    }
    const need = text.length * 6.6 + 10
    if (x1 + need < right) ctx.fillText(text, Math.max(x1, x0 + 1) + 6, mid)
    else if (x0 - need > left) {
      ctx.textAlign = 'right'
      ctx.fillText(text, x0 - 6, mid)
      ctx.textAlign = 'left'
    } else {
      // The bar fills the view: the label goes on it, with a background for contrast.
      const x = Math.min(x1, right) - need - 2
      ctx.fillStyle = colours.background
      ctx.globalAlpha = 0.86
      ctx.fillRect(x, mid - 6, need, 12)
      ctx.globalAlpha = 1
      ctx.fillStyle = colours.text
      ctx.fillText(text, x + 5, mid)
    }
  }

  private paintEdges(ctx: CanvasRenderingContext2D, scene: Scene, colours: CanvasColours, left: number, width: number, height: number, scrollTop: number) {
    const { edges } = this.w
    const scale = width / (scene.to - scene.from)
    ctx.font = SMALL
    for (let e = 0; e < edges.type.length; e++) {
      if (edges.fromBlock[e] !== scene.selected && edges.toBlock[e] !== scene.selected) continue
      const x0 = left + (edges.from[e]! + shiftOf(this.w, edges.fromBlock[e]!, scene.clock) - scene.from) * scale
      const x1 = left + (edges.to[e]! + shiftOf(this.w, edges.toBlock[e]!, scene.clock) - scene.from) * scale
      const y0 = scene.rows.rowOf[edges.fromBlock[e]!]! * ROW + ROW / 2 - scrollTop
      const y1 = scene.rows.rowOf[edges.toBlock[e]!]! * ROW + ROW / 2 - scrollTop
      if (Math.max(y0, y1) < 0 || Math.min(y0, y1) > height) continue
      ctx.strokeStyle = colours.accent
      ctx.fillStyle = colours.accent
      ctx.lineWidth = 1.5
      ctx.setLineDash(edges.blocking[e] ? [] : [4, 3])
      const middle = (x0 + x1) / 2
      ctx.beginPath()
      ctx.moveTo(x0, y0)
      ctx.bezierCurveTo(middle, y0, middle, y1, x1, y1)
      ctx.stroke()
      ctx.setLineDash([])
      ctx.lineWidth = 1
      const back = x1 >= x0 ? -1 : 1
      ctx.beginPath()
      ctx.moveTo(x1, y1)
      ctx.lineTo(x1 + back * 7, y1 - 4)
      ctx.lineTo(x1 + back * 7, y1 + 4)
      ctx.fill()
      const label = this.w.strings[edges.type[e]!]!.replace(/_/g, ' ')
      const labelWidth = this.text.width(ctx, label)
      const labelY = (y0 + y1) / 2
      // On the line if it is long enough for the label, else to its left.
      const labelX = Math.abs(x1 - x0) > labelWidth + 24 ? middle - labelWidth / 2 : Math.max(left + 4, Math.min(x0, x1) - labelWidth - 10)
      ctx.fillStyle = colours.background
      ctx.fillRect(labelX - 3, labelY - 7, labelWidth + 6, 14)
      ctx.fillStyle = colours.accent
      ctx.fillText(label, labelX, labelY + NUDGE)
    }
  }
}

function paintTriangle(ctx: CanvasRenderingContext2D, x: number, mid: number, colour: string, shut: boolean) {
  ctx.fillStyle = colour
  ctx.beginPath()
  if (shut) {
    ctx.moveTo(x + 3, mid - 4)
    ctx.lineTo(x + 8, mid)
    ctx.lineTo(x + 3, mid + 4)
  } else {
    ctx.moveTo(x + 1, mid - 2.5)
    ctx.lineTo(x + 9, mid - 2.5)
    ctx.lineTo(x + 5, mid + 2.5)
  }
  ctx.fill()
}

function paintErrorMark(ctx: CanvasRenderingContext2D, x: number, y: number, colour: string) {
  ctx.fillStyle = colour
  ctx.beginPath()
  ctx.moveTo(x, y - 6)
  ctx.lineTo(x + 6, y + 5)
  ctx.lineTo(x - 6, y + 5)
  ctx.fill()
}

// Round instants (1, 2 or 5 times a power of ten) about 110 px apart.
export function ticks(from: number, to: number, width: number): number[] {
  const wanted = Math.max(1, Math.floor(width / 110))
  const rough = (to - from) / wanted
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough) ?? rough
  const out: number[] = []
  for (let k = Math.ceil(from / step); k * step <= to && out.length < 64; k++) out.push(k * step)
  return out
}
