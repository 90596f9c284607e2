import type { GraphEdge, RecordingGraph, Site, SubComputation } from '../api/recordings'

// Sub-computations per thread, in order, each followed by the wait that ended it.

export interface Lane {
  thread: number
  name: string
  subs: SubComputation[]
}

export interface Lanes {
  lanes: Lane[]
  byId: Map<string, { lane: number; sub: SubComputation }>
  edges: GraphEdge[] // between threads
  from: number
  to: number
}

export const endOf = (sub: SubComputation, last: number): number => sub.end_ns ?? last

export function makeLanes(graph: RecordingGraph, duration: number): Lanes {
  const byThread = new Map<number, SubComputation[]>()
  let from = Infinity
  let to = 0
  for (const sub of graph.sub_computations) {
    const list = byThread.get(sub.thread)
    if (list) list.push(sub)
    else byThread.set(sub.thread, [sub])
    from = Math.min(from, sub.start_ns)
    to = Math.max(to, endOf(sub, duration) + sub.wait_ns)
  }
  const lanes = graph.threads
    .filter((thread) => byThread.has(thread.id))
    .map((thread) => ({ thread: thread.id, name: thread.name, subs: byThread.get(thread.id)! }))
  const byId = new Map<string, { lane: number; sub: SubComputation }>()
  lanes.forEach((lane, i) => lane.subs.forEach((sub) => byId.set(sub.id, { lane: i, sub })))
  const edges = graph.edges.filter((edge) => edge.kind !== 'control' && byId.has(edge.from) && byId.has(edge.to) && byId.get(edge.from)!.lane !== byId.get(edge.to)!.lane)
  return { lanes, byId, edges, from: Number.isFinite(from) ? from : 0, to: Math.max(to, 1) }
}

// The sub-computation at a time, or the one whose wait covers it.
export function subAt(lane: Lane, time: number): SubComputation | null {
  let low = 0
  let high = lane.subs.length
  while (low < high) {
    const half = (low + high) >> 1
    if (lane.subs[half]!.start_ns <= time) low = half + 1
    else high = half
  }
  return low > 0 ? lane.subs[low - 1]! : null
}

export function placeText(site: Site | null | undefined): string {
  if (!site) return ''
  const file = site.file ? `${site.file.replace(/^.*\//, '')}${site.line ? `:${site.line}` : ''}` : site.module ? site.module.replace(/^.*\//, '') : ''
  return [site.function, file].filter(Boolean).join(' at ')
}

export interface WaitRow {
  object: number | null
  label: string
  ops: string[]
  waits: number
  total: number
  longest: number
  longestSub: string
}

const THREAD_OPS = /^(pthread_(create|join|.*join_np)|thrd_(create|join)|thread_exit)$/

// Waits by what was waited for, longest total first.
export function waitRows(graph: RecordingGraph): WaitRow[] {
  const rows = new Map<string, WaitRow>()
  for (const sub of graph.sub_computations) {
    if (!sub.wait_ns || !sub.sync) continue
    const key = `${sub.sync.object}`
    let row = rows.get(key)
    if (!row) {
      row = { object: sub.sync.object, label: objectLabel(graph, sub.sync.object), ops: [], waits: 0, total: 0, longest: 0, longestSub: sub.id }
      rows.set(key, row)
    }
    if (sub.sync.op && !row.ops.includes(sub.sync.op)) row.ops.push(sub.sync.op)
    row.waits++
    row.total += sub.wait_ns
    if (sub.wait_ns > row.longest) {
      row.longest = sub.wait_ns
      row.longestSub = sub.id
    }
  }
  return [...rows.values()].sort((a, b) => b.total - a.total)
}

export const isJoin = (row: WaitRow): boolean => row.ops.every((op) => THREAD_OPS.test(op))

export function objectLabel(graph: RecordingGraph, id: number | null | undefined): string {
  const object = graph.objects.find((o) => o.id === id)
  if (!object) return ''
  if (object.kind === 'thread') return `thread ${object.thread ?? '?'}`
  return `${object.kind} ${object.symbol ?? object.address ?? object.id}`
}
