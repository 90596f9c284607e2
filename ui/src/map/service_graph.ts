import type { Rows } from '../api/datasets'
import { numberOf } from '../data/values'

// Services and their calls, laid out in layers: callers to the left of callees, except in cycles.

export interface Edge {
  // '': calls from outside.
  from: string
  to: string
  calls: number
  errors: number
  p50: number | null
  p95: number | null
}

export interface Node {
  name: string
  layer: number
  place: number
  calls: number
  errors: number
}

export interface Graph {
  nodes: Node[]
  edges: Edge[]
  layers: number
  widest: number
}

// Columns: caller, service, count, sum(error), p50 and p95 of duration_ns; in any order.
export function edgesOf(rows: Rows): Edge[] {
  const at = (name: string) => rows.columns.findIndex((c) => c.name === name)
  const [from, to, calls, errors, p50, p95] = [at('caller'), at('service'), at('count'), at('sum(error)'), at('p50(duration_ns)'), at('p95(duration_ns)')]
  const text = (cell: unknown) => (typeof cell === 'string' ? cell : '')
  return rows.rows.map((row) => ({
    from: text(row[from!]), to: text(row[to!]), calls: numberOf(row[calls!] ?? null) ?? 0, errors: numberOf(row[errors!] ?? null) ?? 0,
    p50: numberOf(row[p50!] ?? null), p95: numberOf(row[p95!] ?? null),
  }))
}

export const OUTSIDE = 'outside'
const MAX_LAYERS = 12
const MAX_ROWS = 30

export function layOut(edges: Edge[]): Graph {
  const name = (s: string) => s || OUTSIDE
  const names = new Set<string>()
  for (const e of edges) names.add(name(e.from)).add(name(e.to))
  const out = new Map<string, string[]>()
  const into = new Map<string, string[]>()
  for (const e of edges) {
    if (e.from === e.to) continue
    push(out, name(e.from), name(e.to))
    push(into, name(e.to), name(e.from))
  }
  const sorted = [...names].sort()
  let layer = layersOf(sorted, out, into)
  // In graphs full of cycles the longest path becomes one long chain; shortest distances keep them readable.
  if (Math.max(...layer.values()) > MAX_LAYERS) layer = distancesOf(sorted, out, into)
  const byLayer: string[][] = []
  for (const n of sorted) (byLayer[layer.get(n)!] ??= []).push(n)
  const whole = Array.from(byLayer, (l) => l ?? [])
  untangle(whole, into, out)
  // A large layer becomes several columns, because a canvas has a max height.
  const layers = whole.flatMap((l) => Array.from({ length: Math.ceil(l.length / MAX_ROWS) }, (_, i) => l.slice(i * MAX_ROWS, (i + 1) * MAX_ROWS)))
  const calls = new Map<string, [number, number]>()
  for (const e of edges) {
    const sum = calls.get(name(e.to)) ?? [0, 0]
    calls.set(name(e.to), [sum[0] + e.calls, sum[1] + e.errors])
  }
  const nodes = layers.flatMap((l, i) => l.map((n, place) => ({ name: n, layer: i, place, calls: calls.get(n)?.[0] ?? 0, errors: calls.get(n)?.[1] ?? 0 })))
  return { nodes, edges, layers: layers.length, widest: layers.reduce((m, l) => Math.max(m, l.length), 0) }
}

function push(map: Map<string, string[]>, key: string, value: string) {
  const list = map.get(key)
  if (list) list.push(value)
  else map.set(key, [value])
}

// The longest path from a service without callers, ignoring edges that close a cycle. Not recursive: chains may be long.
function layersOf(names: string[], out: Map<string, string[]>, into: Map<string, string[]>): Map<string, number> {
  const state = new Map<string, 1 | 2>()
  const order: string[] = []
  const back = new Set<string>()
  const roots = [...names.filter((n) => !into.has(n)), ...names]
  for (const root of roots) {
    if (state.has(root)) continue
    const stack: { name: string; next: number }[] = [{ name: root, next: 0 }]
    state.set(root, 1)
    while (stack.length > 0) {
      const top = stack.at(-1)!
      const to = out.get(top.name)?.[top.next++]
      if (to === undefined) {
        state.set(top.name, 2)
        order.push(top.name)
        stack.pop()
      } else if (state.get(to) === 1) back.add(`${top.name}\u0000${to}`)
      else if (!state.has(to)) {
        state.set(to, 1)
        stack.push({ name: to, next: 0 })
      }
    }
  }
  const layer = new Map<string, number>(names.map((n) => [n, 0]))
  for (const n of order.reverse()) {
    for (const to of out.get(n) ?? []) if (!back.has(`${n}\u0000${to}`)) layer.set(to, Math.max(layer.get(to)!, layer.get(n)! + 1))
  }
  return layer
}

// The shortest distance from a service without callers (in a cycle, from the first service by name).
function distancesOf(names: string[], out: Map<string, string[]>, into: Map<string, string[]>): Map<string, number> {
  const layer = new Map<string, number>()
  for (const root of [...names.filter((n) => !into.has(n)), ...names]) {
    if (layer.has(root)) continue
    layer.set(root, 0)
    const queue = [root]
    for (const n of queue) {
      for (const to of out.get(n) ?? []) {
        if (layer.has(to)) continue
        layer.set(to, layer.get(n)! + 1)
        queue.push(to)
      }
    }
  }
  return layer
}

// A few sweeps of the barycentre heuristic, which puts a service near the middle of its neighbours.
function untangle(layers: string[][], into: Map<string, string[]>, out: Map<string, string[]>) {
  for (let sweep = 0; sweep < 6; sweep++) {
    const forward = sweep % 2 === 0
    const place = new Map<string, number>()
    for (const l of layers) l.forEach((n, i) => place.set(n, (i + 0.5) / l.length))
    for (const l of forward ? layers : [...layers].reverse()) {
      const middle = new Map(l.map((n) => {
        const near = ((forward ? into : out).get(n) ?? []).map((m) => place.get(m)!)
        return [n, near.length ? near.reduce((a, b) => a + b, 0) / near.length : place.get(n)!]
      }))
      l.sort((a, b) => middle.get(a)! - middle.get(b)! || (a < b ? -1 : 1))
      l.forEach((n, i) => place.set(n, (i + 0.5) / l.length))
    }
  }
}
