import { ns } from '../api/exact_json'
import type { CriticalPathAnswer } from '../api/types'
import { VERDICTS, verdictOf, verdictWords, type Verdict } from '../parts/verdict'
import type { Waterfall } from './waterfall_model'

// The critical path of one trace as columns, in time order, indexed by block for drawing.

export interface PathModel {
  count: number
  block: Int32Array // -1: a span that arrived after the waterfall was loaded
  verdict: Uint8Array // index into VERDICTS
  start: Float64Array // ns since the trace's start
  length: Float64Array
  service: string[]
  name: string[]
  spanId: string[]
  alternatives: (string[] | undefined)[]
  from: number
  to: number
  totals: Record<Verdict, number>
  // Segments of block i are order[first[i]] … order[first[i + 1] - 1], in time order.
  first: Int32Array
  order: Int32Array
  whatIf: { matched: number; durationNs: number } | null
  complete: boolean
}

export function decodePath(answer: CriticalPathAnswer, w: Waterfall): PathModel {
  const n = answer.segments.length
  // Only ids of spans on the path: it is short even if the trace is large.
  const at = new Map<string, number>()
  for (const s of answer.segments) at.set(s.span_id, -1)
  for (let i = 0; i < w.count; i++) if (at.has(w.spanId[i]!)) at.set(w.spanId[i]!, i)
  const relative = (time: CriticalPathAnswer['start_ns']) => Number(ns(time) - w.startNs)
  const path: PathModel = {
    count: n,
    block: new Int32Array(n),
    verdict: new Uint8Array(n),
    start: new Float64Array(n),
    length: new Float64Array(n),
    service: new Array<string>(n),
    name: new Array<string>(n),
    spanId: new Array<string>(n),
    alternatives: new Array<string[] | undefined>(n),
    from: relative(answer.start_ns),
    to: relative(answer.end_ns),
    totals: { self: 0, blocked: 0, network: 0, queue: 0, unknown: 0 },
    first: new Int32Array(w.count + 1),
    order: new Int32Array(n),
    whatIf: answer.what_if ? { matched: Number(ns(answer.what_if.matched)), durationNs: Number(ns(answer.what_if.duration_ns)) } : null,
    complete: answer.complete,
  }
  answer.segments.forEach((s, i) => {
    const verdict = verdictOf(s.category)
    path.block[i] = at.get(s.span_id) ?? -1
    path.verdict[i] = VERDICTS.indexOf(verdict)
    path.start[i] = relative(s.start_ns)
    path.length[i] = Number(ns(s.end_ns) - ns(s.start_ns))
    path.service[i] = s.service
    path.name[i] = s.name
    path.spanId[i] = s.span_id
    path.alternatives[i] = s.alternatives
    path.totals[verdict] += path.length[i]!
    if (path.block[i]! >= 0) path.first[path.block[i]! + 1]!++
  })
  for (let i = 0; i < w.count; i++) path.first[i + 1]! += path.first[i]!
  const next = path.first.slice()
  for (let i = 0; i < n; i++) if (path.block[i]! >= 0) path.order[next[path.block[i]!]!++] = i
  return path
}

export interface PathPart {
  service: string
  name: string
  verdict: Verdict
  total: number
  spans: number
  segments: number
  longest: number // index of the longest segment
}

// The path summed by service, operation and verdict, largest first.
export function pathParts(path: PathModel): PathPart[] {
  const parts = new Map<string, PathPart & { ids: Set<string> }>()
  for (let i = 0; i < path.count; i++) {
    const key = `${path.verdict[i]} ${path.service[i]}\u0000${path.name[i]}`
    let part = parts.get(key)
    if (!part) {
      part = { service: path.service[i]!, name: path.name[i]!, verdict: VERDICTS[path.verdict[i]!]!, total: 0, spans: 0, segments: 0, longest: i, ids: new Set() }
      parts.set(key, part)
    }
    part.total += path.length[i]!
    part.segments++
    part.ids.add(path.spanId[i]!)
    if (path.length[i]! > path.length[part.longest]!) part.longest = i
  }
  return [...parts.values()].map(({ ids, ...part }) => ({ ...part, spans: ids.size })).sort((a, b) => b.total - a.total)
}

export const verdictAt = (path: PathModel, segment: number): Verdict => VERDICTS[path.verdict[segment]!]!

// "(own work)", "(queue, in 3 spans)"
export const partNote = (part: PathPart): string => `(${verdictWords(part.verdict)}${part.spans > 1 ? `, in ${part.spans} spans` : ''})`

// A block's time on the path by verdict.
export function timeOnPath(path: PathModel, block: number): [Verdict, number][] {
  const totals = new Map<Verdict, number>()
  for (let k = path.first[block]!; k < path.first[block + 1]!; k++) {
    const s = path.order[k]!
    totals.set(verdictAt(path, s), (totals.get(verdictAt(path, s)) ?? 0) + path.length[s]!)
  }
  return [...totals]
}

// The first segment that ends after `time`.
export function firstSegmentAfter(path: PathModel, time: number): number {
  let low = 0
  let high = path.count
  while (low < high) {
    const half = (low + high) >> 1
    if (path.start[half]! + path.length[half]! <= time) low = half + 1
    else high = half
  }
  return low
}

const PLACE = /^([0-9a-f]{1,16})(?::(start|end))?$/

export interface Place {
  spanId: string
  side: 'start' | 'end'
}

export function parsePlace(text: string | null, side: 'start' | 'end'): Place | null {
  const match = PLACE.exec(text ?? '')
  return match ? { spanId: match[1]!.padStart(16, '0'), side: (match[2] as 'start' | 'end' | undefined) ?? side } : null
}

const WHAT_IF = /^(service|operation|span|type)\/.+=\d+(\.\d+)?x$/

// What is wrong with a what-if text, or null. Checks only the grammar; the server checks names.
export function whatIfProblem(text: string): string | null {
  if (WHAT_IF.test(text)) return null
  if (!text.includes('=')) return 'write SELECTOR=FACTORx, for example service/storage=0.5x'
  if (!/=\d+(\.\d+)?x$/.test(text)) return 'the factor is a number followed by x, for example 0.5x or 2x'
  return 'a selector is service/NAME, operation/NAME, span/ID or type/NAME'
}
