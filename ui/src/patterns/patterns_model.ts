import { ns, type ExactInt } from '../api/exact_json'
import type { Bin, NodeAnswer, PatternAnswer, PatternsAnswer } from '../api/paths'

// Patterns for the view: trees flattened in reading order, patterns of equal shape in clusters, and comparisons of two
// time windows. Not recursive: a path may be as deep as its trace is long.

export interface Spread {
  latency: Bin[]
  callDelay: Bin[]
  own: Bin[]
}

export interface PathNode {
  node: string
  depth: number
  parent: number
  end: number // index after its subtree
  key: string // of its place in the tree, the same in every window
  start: number // mean, after the root's call
  latency: number
  callDelay: number
  own: number
  steps: number[]
  afterReply: boolean
  spread: Spread | null
}

export interface Pattern {
  id: string
  count: number
  total: number
  mean: number
  p50: number
  p99: number
  shape: string
  client: string
  firstNs: bigint | null
  lastNs: bigint | null
  timeline: number[]
  nodes: PathNode[]
  largestOwn: number // the node with the largest own time
}

const num = (value: ExactInt | undefined): number => Number(ns(value))

export function decodePattern(p: PatternAnswer): Pattern {
  const nodes: PathNode[] = []
  const stack: { answer: NodeAnswer; parent: number; key: string }[] = [{ answer: p.root, parent: -1, key: '0' }]
  while (stack.length > 0) {
    const { answer, parent, key } = stack.pop()!
    const at = nodes.length
    const steps = answer.steps_ns.map(num)
    const callDelay = num(answer.call_delay_ns)
    const h = answer.histogram
    nodes.push({
      node: answer.node,
      depth: parent < 0 ? 0 : nodes[parent]!.depth + 1,
      parent,
      end: at + 1,
      key,
      start: parent < 0 ? 0 : nodes[parent]!.start + callDelay,
      latency: num(answer.latency_ns),
      callDelay,
      own: steps.reduce((sum, s) => sum + s, 0),
      steps,
      afterReply: answer.after_reply === true,
      spread: h ? { latency: h.latency_ns, callDelay: h.call_delay_ns, own: h.own_ns } : null,
    })
    // Siblings of the same name are numbered among themselves, because their position may differ between windows.
    const seen = new Map<string, number>()
    const below = answer.children.map((child) => {
      const nth = seen.get(child.node) ?? 0
      seen.set(child.node, nth + 1)
      return { answer: child, parent: at, key: `${key}/${child.node}#${nth}` }
    })
    stack.push(...below.reverse())
  }
  for (let i = nodes.length - 1; i > 0; i--) {
    const parent = nodes[nodes[i]!.parent]!
    parent.end = Math.max(parent.end, nodes[i]!.end)
  }
  let largestOwn = 0
  nodes.forEach((n, i) => {
    if (n.own > nodes[largestOwn]!.own) largestOwn = i
  })
  return {
    id: p.id,
    count: p.count,
    total: num(p.total_latency_ns),
    mean: num(p.latency_ns.mean),
    p50: num(p.latency_ns.p50),
    p99: num(p.latency_ns.p99),
    shape: p.shape ?? p.id,
    client: p.client,
    firstNs: p.first_ns === undefined ? null : ns(p.first_ns),
    lastNs: p.last_ns === undefined ? null : ns(p.last_ns),
    timeline: p.timeline ?? [],
    nodes,
    largestOwn,
  }
}

// "WS1 → AUTH (→ DB1), AP1 → DB1": the tree in one line, with an ellipsis after about `maxLength` characters.
export function pathText(nodes: { node: string; depth: number; end: number }[], maxLength = 160): string {
  let out = ''
  const closes: { end: number; bracket: boolean }[] = []
  for (let i = 0; i < nodes.length; i++) {
    while (closes.length > 0 && closes.at(-1)!.end <= i) if (closes.pop()!.bracket) out += ')'
    const n = nodes[i]!
    const first = i > 0 && nodes[i - 1]!.depth < n.depth
    if (i > 0) out += first ? ' → ' : ', '
    out += n.node
    if (out.length > maxLength) return `${out}…`
    // Without brackets, a sibling after a node's children would read as one of them.
    const bracket = n.end > i + 1 && n.end < nodes.length && nodes[n.end]!.depth === n.depth
    if (bracket) out += ' ('
    closes.push({ end: n.end, bracket })
  }
  while (closes.length > 0) if (closes.pop()!.bracket) out += ')'
  return out.replace(/\( → /g, '(→ ')
}

export interface Cluster {
  shape: string
  patterns: Pattern[]
  count: number
  total: number
  names: string // the tree in one line, with all names of each place
}

export type Sort = 'total' | 'count'

// Groups patterns by shape; clusters and their patterns are sorted by descending time or count.
export function clusters(patterns: Pattern[], sort: Sort): Cluster[] {
  const by = new Map<string, Pattern[]>()
  for (const p of patterns) {
    const list = by.get(p.shape)
    if (list) list.push(p)
    else by.set(p.shape, [p])
  }
  const value = (x: { total: number; count: number }) => (sort === 'total' ? x.total : x.count)
  return [...by.entries()]
    .map(([shape, list]) => {
      const sorted = [...list].sort((a, b) => value(b) - value(a))
      return { shape, patterns: sorted, count: list.reduce((s, p) => s + p.count, 0), total: list.reduce((s, p) => s + p.total, 0), names: namesOf(sorted) }
    })
    .sort((a, b) => value(b) - value(a))
}

function namesOf(patterns: Pattern[]): string {
  const trees = patterns.map((p) => inShapeOrder(p.nodes))
  const first = trees[0]!
  const merged = first.map((n, i) => {
    const names = [...new Set(trees.map((tree) => tree[i]?.node ?? n.node))].sort()
    return { ...n, node: names.length > 4 ? `${names.slice(0, 3).join('|')}|…` : names.join('|') }
  })
  return pathText(merged)
}

// The same tree with children sorted by shape, then by call time, so that equal shapes line up.
function inShapeOrder(nodes: PathNode[]): { node: string; depth: number; end: number }[] {
  const kids: number[][] = nodes.map(() => [])
  for (let i = 1; i < nodes.length; i++) kids[nodes[i]!.parent]!.push(i)
  const shape: string[] = []
  for (let i = nodes.length - 1; i >= 0; i--) {
    kids[i]!.sort((a, b) => (shape[a]! < shape[b]! ? 1 : shape[a]! > shape[b]! ? -1 : nodes[a]!.callDelay - nodes[b]!.callDelay))
    shape[i] = `(${kids[i]!.map((k) => shape[k]).join('')})`
  }
  const out: { node: string; depth: number; end: number }[] = []
  const stack = [0]
  while (stack.length > 0) {
    const i = stack.pop()!
    out.push({ node: nodes[i]!.node, depth: nodes[i]!.depth, end: out.length + nodes[i]!.end - i })
    for (const k of [...kids[i]!].reverse()) stack.push(k)
  }
  return out
}

// What each node adds to the mean path, over all patterns including those not shown.
export interface Share {
  node: string
  perPath: number
}

export interface Population {
  answer: PatternsAnswer
  patterns: Pattern[]
  paths: number
  total: number // of the patterns shown
  mean: number
  shares: Share[]
}

export function decodePatterns(answer: PatternsAnswer): Population {
  const patterns = answer.patterns.map(decodePattern)
  const shown = patterns.reduce((s, p) => s + p.count, 0)
  const paths = shown + answer.omitted.count
  const total = patterns.reduce((s, p) => s + p.total, 0)
  const spans = answer.timeline?.spans ?? []
  const timed = spans.reduce((s, x) => s + x.count, 0)
  const mean = timed > 0 ? spans.reduce((s, x) => s + x.count * num(x.latency_ns), 0) / timed : shown > 0 ? total / shown : 0
  const shares = (answer.graph?.nodes ?? [])
    .map((n) => ({ node: n.node, perPath: paths > 0 ? (n.visits * num(n.own_ns)) / paths : 0 }))
    .sort((a, b) => b.perPath - a.perPath)
  return { answer, patterns, paths, total, mean, shares }
}

export interface NodeDifference {
  node: string
  usual: number
  slow: number
}

// How much each node adds to the mean path in both windows, largest growth first.
export function nodeDifferences(usual: Population, slow: Population): NodeDifference[] {
  const out = new Map<string, NodeDifference>()
  for (const s of usual.shares) out.set(s.node, { node: s.node, usual: s.perPath, slow: 0 })
  for (const s of slow.shares) {
    const known = out.get(s.node)
    if (known) known.slow = s.perPath
    else out.set(s.node, { node: s.node, usual: 0, slow: s.perPath })
  }
  return [...out.values()].sort((a, b) => b.slow - b.usual - (a.slow - a.usual))
}

// The node whose own time grew most (-1: none), and each node's counterpart in the usual window.
export function compareNodes(usual: Pattern | null, slow: Pattern): { others: (PathNode | null)[]; grewMost: number } {
  const byKey = new Map(usual?.nodes.map((n) => [n.key, n]) ?? [])
  const others = slow.nodes.map((n) => byKey.get(n.key) ?? null)
  let grewMost = -1
  let growth = 0
  slow.nodes.forEach((n, i) => {
    const other = others[i]
    if (other && n.own - other.own > growth) {
      growth = n.own - other.own
      grewMost = i
    }
  })
  return { others, grewMost }
}

// Quantile of a histogram: the upper end of the bin that reaches it.
export function binQuantile(bins: Bin[], q: number): number {
  const total = bins.reduce((s, b) => s + b[2], 0)
  let seen = 0
  for (const [, until, n] of bins) {
    seen += n
    if (seen >= q * total) return until
  }
  return 0
}

export interface TimeSpan {
  fromNs: bigint
  untilNs: bigint
  count: number
  latency: number
}

export function timeSpans(answer: PatternsAnswer): TimeSpan[] {
  const t = answer.timeline
  if (!t) return []
  const start = ns(t.start_ns)
  const width = ns(t.span_ns)
  const spans = t.spans.map((s, i) => ({ fromNs: start + BigInt(i) * width, untilNs: start + BigInt(i + 1) * width, count: s.count, latency: num(s.latency_ns) }))
  let last = spans.length
  while (last > 0 && spans[last - 1]!.count === 0) last--
  return spans.slice(0, last)
}

// The split of the time into a fast and a slow part with the largest variance between both. A pause usually separates two
// captures, so a split beside one is preferred to a slightly better one elsewhere. Null if fewer than four spans have
// paths.
export function bestSplit(spans: TimeSpan[]): number | null {
  if (spans.filter((s) => s.count > 0).length < 4) return null
  const all = spans.reduce((s, x) => s + x.count, 0)
  const sum = spans.reduce((s, x) => s + x.count * x.latency, 0)
  let best: number | null = null
  let bestBetween = 0
  let atPause: number | null = null
  let bestAtPause = 0
  let n = 0
  let part = 0
  for (let i = 0; i + 1 < spans.length; i++) {
    n += spans[i]!.count
    part += spans[i]!.count * spans[i]!.latency
    if (n === 0 || n === all) continue
    const apart = part / n - (sum - part) / (all - n)
    const between = n * (all - n) * apart * apart
    if (between > bestBetween) {
      bestBetween = between
      best = i + 1
    }
    if (spans[i]!.count === 0 && spans[i + 1]!.count > 0 && between > bestAtPause) {
      bestAtPause = between
      atPause = i + 1
    }
  }
  return bestAtPause > 0.6 * bestBetween ? atPause : best
}
