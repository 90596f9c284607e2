import { ns } from '../api/exact_json'
import type { HostClock, Missing, Violation, WaterfallAnswer } from '../api/types'

// The columns of one trace as typed arrays. Blocks are in depth-first order, so the subtree of block i is the
// range [i, subtreeEnd[i]) and everything below works on ranges: no per-span objects, whatever the trace's size.

export const Repaired = 1
export const StandIn = 2
export const Asynchronous = 4
export const MostOwn = 8
export const Inferred = 16

export type Clock = 'aligned' | 'raw'

export interface Waterfall {
  traceId: string
  startNs: bigint
  complete: boolean
  clockErrorNs: number
  strings: string[]
  count: number
  spanId: string[]
  parent: Int32Array
  depth: Int32Array
  subtreeEnd: Int32Array
  service: Int32Array
  name: Int32Array
  kind: Int32Array
  status: Uint8Array
  flags: Uint8Array
  own: Float64Array
  times: Record<Clock, { start: Float64Array; duration: Float64Array; from: number; to: number }>
  // The execution unit of each block (-1: unknown), and the units.
  unit: Int32Array
  units: UnitInfo[]
  // Points that name a phase: their time, label and block, in time order.
  markers: Marker[]
  pointTime: Float64Array
  pointName: Int32Array
  // Points of block i are pointOrder[pointFirst[i]] … pointOrder[pointFirst[i + 1] - 1].
  pointFirst: Int32Array
  pointOrder: Int32Array
  edges: { fromBlock: Int32Array; from: Float64Array; toBlock: Int32Array; to: Float64Array; type: Int32Array; blocking: Uint8Array }
  repairs: Record<string, number>
  missing: Missing[]
  violations: Violation[]
  clocks: HostClock[]
  mainRoot: number
  errors: number
  services: string[]
  mostOwn: number
  standIns: number
}

export interface UnitInfo {
  id: string
  name: string
  service: string
  thread: string
  host: string
  samples: number
}

export interface Marker {
  label: string
  time: number
  block: number
}

export interface Range {
  from: number
  to: number
}

// The whole trace, with a margin before it and space for the label of the longest bar after it.
export function wholeRange(w: Waterfall, clock: Clock): Range {
  const { from, to } = w.times[clock]
  const length = to - from
  return { from: from - length * 0.005, to: to + length * 0.12 }
}

// `new Int32Array(list)`, because `.from` uses an iterator and takes five times as long.
export function decodeWaterfall(answer: WaterfallAnswer): Waterfall {
  const b = answer.blocks
  const count = b.span_id.length
  const parent = new Int32Array(b.parent)
  const depth = new Int32Array(count)
  const subtreeEnd = new Int32Array(count)
  for (let i = 0; i < count; i++) {
    depth[i] = parent[i]! < 0 ? 0 : depth[parent[i]!]! + 1
    subtreeEnd[i] = i + 1
  }
  for (let i = count - 1; i >= 0; i--) {
    const p = parent[i]!
    if (p >= 0 && subtreeEnd[i]! > subtreeEnd[p]!) subtreeEnd[p] = subtreeEnd[i]!
  }
  const own = new Float64Array(b.own)
  const status = new Uint8Array(b.status)
  let errors = 0
  let mostOwn = count > 0 ? 0 : -1
  for (let i = 0; i < count; i++) {
    if (status[i] === 2) errors++
    if (own[i]! > own[mostOwn]!) mostOwn = i
  }
  const flags = new Uint8Array(b.flags)
  // The server's choice wins over our max, because it breaks ties.
  const marked = flags.findIndex((f) => (f & MostOwn) !== 0)
  if (marked >= 0) mostOwn = marked

  const service = new Int32Array(b.service)
  const serviceNames = new Set<number>()
  let standIns = 0
  for (let i = 0; i < count; i++) {
    if ((flags[i]! & StandIn) === 0) serviceNames.add(service[i]!)
    else standIns++
  }
  const aligned = span(new Float64Array(b.start), new Float64Array(b.duration))
  const raw = span(new Float64Array(b.raw_start), new Float64Array(b.raw_duration))
  const mainRoot = answer.main_root === null ? -1 : b.span_id.indexOf(answer.main_root)
  return {
    traceId: answer.trace_id,
    startNs: ns(answer.start_ns),
    complete: answer.complete,
    clockErrorNs: Number(ns(answer.clock_error_ns)),
    strings: answer.strings,
    count,
    spanId: b.span_id,
    parent,
    depth,
    subtreeEnd,
    service,
    name: new Int32Array(b.name),
    kind: new Int32Array(b.kind),
    status,
    flags,
    own,
    times: { aligned, raw },
    unit: b.unit ? new Int32Array(b.unit) : new Int32Array(count).fill(-1),
    units: decodeUnits(answer),
    markers: decodeMarkers(answer),
    ...groupPoints(answer, count),
    edges: {
      fromBlock: new Int32Array(answer.edges.from_block),
      from: new Float64Array(answer.edges.from),
      toBlock: new Int32Array(answer.edges.to_block),
      to: new Float64Array(answer.edges.to),
      type: new Int32Array(answer.edges.type),
      blocking: new Uint8Array(answer.edges.blocking),
    },
    repairs: answer.repairs ?? {},
    missing: answer.missing ?? [],
    violations: answer.violations ?? [],
    clocks: answer.clocks ?? [],
    mainRoot: mainRoot >= 0 ? mainRoot : count > 0 ? 0 : -1,
    errors,
    services: [...serviceNames].map((s) => answer.strings[s]!).sort(),
    mostOwn,
    standIns,
  }
}

function span(start: Float64Array, duration: Float64Array) {
  let from = Infinity
  let to = -Infinity
  for (let i = 0; i < start.length; i++) {
    if (start[i]! < from) from = start[i]!
    if (start[i]! + duration[i]! > to) to = start[i]! + duration[i]!
  }
  if (!(to > from)) {
    from = Number.isFinite(from) ? from : 0
    to = from + 1
  }
  return { start, duration, from, to }
}

function decodeUnits({ units, strings }: WaterfallAnswer): UnitInfo[] {
  if (!units) return []
  return units.id.map((id, i) => ({
    id,
    name: strings[units.name[i]!]!,
    service: strings[units.service[i]!]!,
    thread: units.thread[i] ? strings[units.thread[i]!]! : '',
    host: units.host[i] ? strings[units.host[i]!]! : '',
    samples: units.samples[i]!,
  }))
}

function decodeMarkers({ points, strings }: WaterfallAnswer): Marker[] {
  const out: Marker[] = []
  points.marker?.forEach((label, i) => {
    if (label > 0) out.push({ label: strings[label]!, time: points.time[i]!, block: points.block[i]! })
  })
  return out.sort((a, b) => a.time - b.time)
}

function groupPoints(answer: WaterfallAnswer, count: number) {
  const block = answer.points.block
  const pointFirst = new Int32Array(count + 1)
  for (const owner of block) pointFirst[owner + 1]!++
  for (let i = 0; i < count; i++) pointFirst[i + 1]! += pointFirst[i]!
  const next = pointFirst.slice()
  const pointOrder = new Int32Array(block.length)
  block.forEach((owner, point) => (pointOrder[next[owner]!++] = point))
  return {
    pointTime: new Float64Array(answer.points.time),
    pointName: new Int32Array(answer.points.name),
    pointFirst,
    pointOrder,
  }
}

export const hasChildren = (w: Waterfall, i: number) => w.subtreeEnd[i]! > i + 1

// The visible rows, given the folded blocks, and the row of each block (for a hidden block, that of its nearest visible
// ancestor).
export interface Rows {
  // The block of each row; −1 − g for the heading of group g.
  blocks: Int32Array
  rowOf: Int32Array
  // For grouped rows: each row's depth, how many blocks each one hides, and which can be folded.
  depth: Int32Array | null
  hidden: Int32Array | null
  foldable: Uint8Array | null
  groups: RowGroup[]
}

export interface RowGroup {
  key: string
  label: string
  members: Int32Array
  shut: boolean
}

export const canFold = (w: Waterfall, rows: Rows, i: number) => (rows.foldable ? rows.foldable[i] === 1 : hasChildren(w, i))
export const depthAt = (w: Waterfall, rows: Rows, row: number) => (rows.depth ? rows.depth[row]! : w.depth[rows.blocks[row]!]!)

export function visibleRows(w: Waterfall, folded: ReadonlySet<number>): Rows {
  const blocks = new Int32Array(w.count)
  const rowOf = new Int32Array(w.count)
  let rows = 0
  for (let i = 0; i < w.count; ) {
    blocks[rows] = i
    const end = folded.has(i) ? w.subtreeEnd[i]! : i + 1
    rowOf.fill(rows, i, end)
    rows++
    i = end
  }
  return { blocks: blocks.subarray(0, rows), rowOf, depth: null, hidden: null, foldable: null, groups: [] }
}

// The parts of a block that no blocking child covers, as [from, to] pairs relative to the trace's start.
export function ownParts(w: Waterfall, block: number, clock: Clock): Float64Array {
  const { start, duration } = w.times[clock]
  const from = start[block]!
  const to = from + duration[block]!
  const children: number[] = []
  for (let c = block + 1; c < w.subtreeEnd[block]!; c = w.subtreeEnd[c]!) {
    if ((w.flags[c]! & Asynchronous) === 0) children.push(c)
  }
  // Depth-first order is by aligned start; raw starts may differ from it.
  children.sort((a, b) => start[a]! - start[b]!)
  const parts: number[] = []
  let at = from
  for (const c of children) {
    if (start[c]! > at) parts.push(at, Math.min(start[c]!, to))
    at = Math.max(at, start[c]! + duration[c]!)
    if (at >= to) break
  }
  if (at < to) parts.push(at, to)
  return Float64Array.from(parts)
}

export interface Match {
  blocks: Int32Array
  isMatch: Uint8Array
}

// Blocks whose name, service, kind or span id contains the text. Strings are interned: each is tested once.
export function findBlocks(w: Waterfall, text: string): Match {
  const wanted = text.trim().toLowerCase()
  const isMatch = new Uint8Array(w.count)
  if (wanted === '') return { blocks: new Int32Array(0), isMatch }
  const hit = Uint8Array.from(w.strings, (s) => (s.toLowerCase().includes(wanted) ? 1 : 0))
  const byId = /^[0-9a-f]{4,16}$/.test(wanted)
  const errorsOnly = wanted === 'error' || wanted === 'status:error'
  const found: number[] = []
  for (let i = 0; i < w.count; i++) {
    if (
      hit[w.name[i]!] || hit[w.service[i]!] || hit[w.kind[i]!] ||
      (errorsOnly && w.status[i] === 2) || (byId && w.spanId[i]!.includes(wanted))
    ) {
      isMatch[i] = 1
      found.push(i)
    }
  }
  return { blocks: Int32Array.from(found), isMatch }
}

export interface OperationTotal {
  service: string
  name: string
  spans: number
  errors: number
  own: number
  longest: number
  example: number
}

// Own time summed by service and operation, largest first.
export function totalsByOperation(w: Waterfall): OperationTotal[] {
  const totals = new Map<string, OperationTotal>()
  const { duration } = w.times.aligned
  for (let i = 0; i < w.count; i++) {
    const key = `${w.service[i]} ${w.name[i]}`
    let t = totals.get(key)
    if (!t) {
      t = { service: w.strings[w.service[i]!]!, name: w.strings[w.name[i]!]!, spans: 0, errors: 0, own: 0, longest: 0, example: i }
      totals.set(key, t)
    }
    t.spans++
    t.own += w.own[i]!
    if (w.status[i] === 2) t.errors++
    if (duration[i]! > t.longest) t.longest = duration[i]!
    if (w.own[i]! > w.own[t.example]!) t.example = i
  }
  return [...totals.values()].sort((a, b) => b.own - a.own)
}
