import { ns } from '../api/exact_json'
import type { ExplainAnswer, ExplainVertexAnswer } from '../api/types'

// An explanation ready for drawing: vertices by index, times in ns since the first start.

export interface Vertex {
  id: string
  type: string
  node: string
  // The tuple without the span id.
  name: string
  tuple: string
  origin: string
  start: number
  end: number
  delay: number
  own: number
  usual: number | null
  functional: boolean
  expired: boolean
  count: number
  members: string[]
  work: Work[]
  // Set on the vertex that holds those members of an unfolded vertex that are not shown one by one.
  restOf: string | null
  // The vertices of a run of short steps that is drawn as one; empty otherwise.
  steps: Vertex[]
}

// The trace, and the span if known, whose work a vertex is.
export interface Work {
  traceId: string
  spanId: string
}

export interface Edge {
  from: number // cause or predecessor
  to: number // effect or waiter
  kind: 'causal' | 'sequencing'
  delay: number
}

export interface Explanation {
  delay: number
  originNs: bigint
  root: number
  from: number
  vertices: Vertex[]
  edges: Edge[]
  whatIf: { matched: number; durationNs: number } | null
  hasUsual: boolean
}

const SPAN_TUPLE = /^(.*)\([0-9a-f]{16}\)$/s

export function tupleName(tuple: string): string {
  return tuple.replace(/^[+-]/, '').replace(/\(.*$/s, '')
}

// Ids of events of a trace are TRACE:SPAN:PART.
const EVENT_ID = /^([0-9a-f]{32}):([0-9a-f]{16}):/

function workOf(v: ExplainVertexAnswer): Work[] {
  const traces = v.trace_ids ?? []
  const spans = v.span_ids ?? []
  if (traces.length === 0) return []
  if (traces.length === 1 && spans.length === 1) return [{ traceId: traces[0]!, spanId: spans[0]! }]
  // The two lists have no duplicates, so only the members' ids say which span belongs to which trace.
  const out = new Map<string, Work>()
  for (const id of v.members ?? []) {
    const event = EVENT_ID.exec(id)
    if (event) out.set(`${event[1]} ${event[2]}`, { traceId: event[1]!, spanId: event[2]! })
  }
  const withSpan = new Set([...out.values()].map((w) => w.traceId))
  for (const traceId of traces) if (!withSpan.has(traceId)) out.set(traceId, { traceId, spanId: '' })
  return [...out.values()]
}

export function decodeExplanation(answer: ExplainAnswer): Explanation {
  let originNs: bigint | null = null
  for (const v of answer.vertices) {
    const start = ns(v.start_ns)
    if (originNs === null || start < originNs) originNs = start
  }
  const zero = originNs ?? 0n
  const at = new Map<string, number>()
  const vertices = answer.vertices.map((v, i): Vertex => {
    for (const id of [v.id, ...(v.members ?? [])]) at.set(id, i)
    return {
      id: v.id,
      type: v.type,
      node: v.node,
      tuple: v.tuple,
      // Nearly all messages add something, so their + is dropped; a − stays.
      name: (SPAN_TUPLE.exec(v.tuple)?.[1] ?? v.tuple).replace(/^\+/, ''),
      origin: v.origin ?? '',
      start: Number(ns(v.start_ns) - zero),
      end: Number(ns(v.end_ns) - zero),
      delay: Number(ns(v.delay_ns)),
      own: Number(ns(v.self_ns)),
      usual: v.baseline_ns === undefined ? null : Number(ns(v.baseline_ns)),
      functional: v.functional,
      expired: v.expired === true,
      count: v.count,
      members: v.members ?? [],
      work: workOf(v),
      restOf: null,
      steps: [],
    }
  })
  return {
    delay: Number(ns(answer.delay_ns)),
    originNs: zero,
    root: at.get(answer.root) ?? -1,
    from: at.get(answer.from) ?? -1,
    vertices,
    edges: answer.edges.flatMap((e): Edge[] => {
      const from = at.get(e.from)
      const to = at.get(e.to)
      return from === undefined || to === undefined ? [] : [{ from, to, kind: e.kind, delay: Number(ns(e.delay_ns ?? 0)) }]
    }),
    whatIf: answer.what_if ? { matched: Number(ns(answer.what_if.matched)), durationNs: Number(ns(answer.what_if.delay_ns)) } : null,
    hasUsual: vertices.some((v) => v.usual !== null),
  }
}

// An unfolded vertex shows at most this many members; the rest stay merged.
export const MAX_MEMBERS = 6

// Replaces the vertices in `open` by their members, which `unmerged` (the same explanation without merging) has one by
// one.
export function unfold(merged: Explanation, unmerged: Explanation, open: ReadonlySet<string>): Explanation {
  const single = new Map(unmerged.vertices.map((v, i) => [v.id, i]))
  const opened = merged.vertices.filter((v) => open.has(v.id) && v.count > 1 && v.members.every((m) => single.has(m)))
  if (opened.length === 0) return merged
  const vertices: Vertex[] = []
  const place = new Map<string, number>() // index in `vertices` by event id
  const own = new Set<number>() // indices of vertices added by unfolding
  for (const v of merged.vertices) {
    const ids = v.count > 1 ? v.members : [v.id]
    if (!opened.includes(v)) {
      for (const id of ids) place.set(id, vertices.length)
      vertices.push(v)
      continue
    }
    const members = ids.map((id) => unmerged.vertices[single.get(id)!]!).sort((a, b) => b.delay - a.delay)
    const shown = members.slice(0, members.length > MAX_MEMBERS ? MAX_MEMBERS - 1 : MAX_MEMBERS)
    // The rest comes first: it has the most delay and takes the place of the merged vertex.
    const rest = members.slice(shown.length)
    if (rest.length > 0) {
      for (const m of rest) place.set(m.id, vertices.length)
      own.add(vertices.length)
      vertices.push({
        ...v, id: `${v.id} …`, restOf: v.id, count: rest.length, members: rest.map((m) => m.id), work: rest.flatMap((m) => m.work), usual: null,
        start: Math.min(...rest.map((m) => m.start)), end: Math.max(...rest.map((m) => m.end)),
        delay: sum(rest.map((m) => m.delay)), own: sum(rest.map((m) => m.own)),
      })
    }
    for (const m of shown) {
      place.set(m.id, vertices.length)
      own.add(vertices.length)
      vertices.push(m)
    }
  }
  // Edges between merged vertices stay; edges of members come from the unmerged explanation.
  const newPlace = merged.vertices.map((v) => place.get(v.id)!)
  const edges = merged.edges.filter((e) => !opened.includes(merged.vertices[e.from]!) && !opened.includes(merged.vertices[e.to]!)).map((e) => ({ ...e, from: newPlace[e.from]!, to: newPlace[e.to]! }))
  const joined = new Map<string, Edge>()
  for (const e of unmerged.edges) {
    const from = place.get(unmerged.vertices[e.from]!.id)
    const to = place.get(unmerged.vertices[e.to]!.id)
    if (from === undefined || to === undefined || from === to || (!own.has(from) && !own.has(to))) continue
    const key = `${from} ${to} ${e.kind}`
    const known = joined.get(key)
    if (known) known.delay += e.delay
    else joined.set(key, { from, to, kind: e.kind, delay: e.delay })
  }
  const idOf = (i: number) => (i < 0 ? -1 : (place.get(merged.vertices[i]!.id) ?? -1))
  return { ...merged, vertices, edges: [...edges, ...joined.values()], root: idOf(merged.root), from: idOf(merged.from) }
}

const sum = (list: number[]) => list.reduce((a, b) => a + b, 0)

// A vertex with a smaller share of the delay is drawn only on demand.
const NEGLIGIBLE_SHARE = 0.01
// A step of the request with a smaller own share is drawn as one line.
export const SLIM_SHARE = 0.02

export const isNegligible = (x: Explanation, i: number): boolean => i !== x.root && i !== x.from && x.vertices[i]!.delay <= x.delay * NEGLIGIBLE_SHARE

// The part that is drawn: vertices and edges that carry delay, and both ends, with runs of short steps as one vertex.
// With `all`, everything.
export function drawnPart(whole: Explanation, all: boolean): Explanation {
  if (all) return whole
  const kept = whole.vertices.map((_, i) => !isNegligible(whole, i))
  return collapse(keepOnly({ ...whole, edges: whole.edges.filter((e) => e.delay > 0) }, (i) => kept[i]!))
}

function keepOnly(x: Explanation, keep: (vertex: number) => boolean): Explanation {
  const place = new Int32Array(x.vertices.length).fill(-1)
  const vertices: Vertex[] = []
  x.vertices.forEach((v, i) => {
    if (keep(i)) place[i] = vertices.push(v) - 1
  })
  const edges = x.edges.filter((e) => place[e.from]! >= 0 && place[e.to]! >= 0).map((e) => ({ ...e, from: place[e.from]!, to: place[e.to]! }))
  return { ...x, vertices, edges, root: x.root < 0 ? -1 : place[x.root]!, from: x.from < 0 ? -1 : place[x.from]! }
}

// Whether it is a step of the request itself that took almost no time.
export function isSlim(x: Explanation, i: number): boolean {
  const v = x.vertices[i]!
  // When several requests are explained together, each step occurs once per request.
  const each = x.vertices[x.root]?.count ?? 1
  return v.functional && !v.expired && v.count <= each && i !== x.root && v.own <= x.delay * SLIM_SHARE
}

function collapse(x: Explanation): Explanation {
  const causes: Edge[][] = x.vertices.map(() => [])
  const effects: Edge[][] = x.vertices.map(() => [])
  for (const e of x.edges) {
    causes[e.to]!.push(e)
    effects[e.from]!.push(e)
  }
  const plain = x.vertices.map((_, i) => isSlim(x, i) && i !== x.from && causes[i]!.length === 1 && effects[i]!.length === 1 && causes[i]![0]!.kind === 'causal' && effects[i]![0]!.kind === 'causal')
  const vertices = [...x.vertices]
  const gone = new Set<number>()
  const edges = new Set(x.edges)
  x.vertices.forEach((v, first) => {
    if (!plain[first] || plain[effects[first]![0]!.to]) return
    const run = [first]
    for (let at = causes[first]![0]!.from; plain[at] && !run.includes(at); at = causes[at]![0]!.from) run.push(at)
    if (run.length < 2) return
    const steps = run.map((i) => x.vertices[i]!)
    const last = run.at(-1)!
    for (const i of run.slice(1)) {
      gone.add(i)
      edges.delete(effects[i]![0]!)
    }
    edges.delete(causes[last]![0]!)
    edges.add({ ...causes[last]![0]!, to: first })
    const nodes = [...new Set(steps.map((s) => s.node))]
    vertices[first] = { ...v, id: `${v.id} +${run.length - 1}`, name: `${run.length} steps`, node: nodes.join(', '), own: sum(steps.map((s) => s.own)), usual: null, work: [], steps }
  })
  return keepOnly({ ...x, vertices, edges: [...edges] }, (i) => !gone.has(i))
}

const WHAT_IF = /^[^=]+=\d+(\.\d+)?x$/

export function explainWhatIfProblem(text: string): string | null {
  if (WHAT_IF.test(text)) return null
  if (!text.includes('=')) return 'write [NODE/]NAME=FACTORx, for example storage/scan=0.5x'
  if (text.startsWith('=')) return 'write what to scale before =; * matches anything'
  return 'the factor is a number followed by x, for example 0.5x or 2x'
}

// The what-if change that scales a vertex.
export const changeOf = (v: Vertex, factor = '0.5x'): string => `${v.node}/${tupleName(v.tuple)}=${factor}`

const TYPES: Record<string, string> = {
  INS: 'arrival from outside',
  DEL: 'removal from outside',
  DRV: 'work',
  UDRV: 'removal',
  SND: 'message sent',
  RCV: 'message received',
}
export const typeMeaning = (type: string): string => TYPES[type] ?? type
