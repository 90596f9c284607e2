import { ns } from '../api/exact_json'
import type { ConvolutionAnswer, PatternsAnswer } from '../api/paths'
import { duration, grouped, percent } from '../parts/format'

// Nodes and edges, from patterns or from convolution.

export interface GraphNode {
  id: string
  node: string
  note: string
  marked: boolean
}

export interface GraphEdge {
  from: number
  to: number
  count: number
  label: string
  delays: { delay: number; count: number }[] // by descending count
}

export interface PathGraphModel {
  nodes: GraphNode[]
  edges: GraphEdge[]
  // Each node has at most one incoming edge, so the edge's label can go into its box.
  tree: boolean
}

export function convolutionGraph(answer: ConvolutionAnswer): PathGraphModel {
  const at = new Map(answer.vertices.map((v, i) => [v.id, i]))
  const edges = answer.edges.map((e): GraphEdge => {
    const delays = e.delays_ns.map((d) => ({ delay: Number(ns(d.delay)), count: d.count }))
    return { from: at.get(e.from)!, to: at.get(e.to)!, count: e.count, delays, label: delayLabel(delays, e.count) }
  })
  const into = answer.vertices.map(() => 0)
  edges.forEach((e) => into[e.to]!++)
  const tree = into.every((n) => n <= 1)
  const nodes = answer.vertices.map((v, i): GraphNode => ({ id: String(v.id), node: v.node, note: tree ? (edges.find((e) => e.to === i)?.label ?? '') : '', marked: false }))
  return { nodes, edges, tree }
}

function delayLabel(delays: { delay: number; count: number }[], count: number): string {
  const shown = delays.slice(0, 2).map((d) => `+${duration(d.delay)}`)
  return [...(shown.length > 0 ? [`${shown.join(', ')}${delays.length > 2 ? ', …' : ''}`] : []), grouped(count)].join(' · ')
}

// All patterns in one graph: how often a node calls another, and how long after it was called itself.
export function mergedGraph(answer: PatternsAnswer): PathGraphModel {
  const graph = answer.graph ?? { nodes: [], edges: [] }
  const nodes: GraphNode[] = []
  const at = new Map<string, number>()
  for (const e of graph.edges) {
    // A client may have the same name as a node that is called; it is a separate box.
    const key = e.starts_path ? `client ${e.from}` : ''
    if (key && !at.has(key)) at.set(key, nodes.push({ id: key, node: e.from, note: 'client', marked: false }) - 1)
  }
  graph.nodes.forEach((n, i) => at.set(n.node, nodes.push({ id: n.node, node: n.node, note: `own ${duration(Number(ns(n.own_ns)))} · ${grouped(n.visits)}`, marked: i === 0 }) - 1))
  const edges = graph.edges.flatMap((e): GraphEdge[] => {
    const from = at.get(e.starts_path ? `client ${e.from}` : e.from)
    const to = at.get(e.to)
    if (from === undefined || to === undefined) return []
    const delay = Number(ns(e.call_delay_ns))
    return [{ from, to, count: e.calls, delays: [{ delay, count: e.calls }], label: `${percent(e.probability, 1)}${e.starts_path ? '' : ` · +${duration(delay)}`}` }]
  })
  return { nodes, edges, tree: false }
}

// The path from a root to a node.
export function wayTo(graph: PathGraphModel, at: number): number[] {
  const out = [at]
  for (let i = 0; i < graph.nodes.length; i++) {
    const edge = graph.edges.find((e) => e.to === out[0] && !out.includes(e.from))
    if (!edge) break
    out.unshift(edge.from)
  }
  return out
}
