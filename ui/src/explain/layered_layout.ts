// Layered drawing of a directed graph, after Sugiyama: break cycles by a walk from the first node, assign layers by the
// longest path, give each edge a bend in every layer it crosses, order each row by the barycentre of the neighbours, and
// then place each row as close to its neighbours as the order allows. Placing is exact (isotonic regression by pooling),
// so that a heavy chain comes out straight. The server draws its SVG the same way (src/graph/layered_layout.cc).

export interface LayoutEdge {
  from: number
  to: number // drawn below `from`
  weight: number
}

export interface Layout {
  layer: number[]
  x: number[] // centres; the left edge of the drawing is 0
  layers: number
  width: number
  // The x of each edge in every layer strictly between its ends, top to bottom.
  bends: number[][]
}

const ORDER_SWEEPS = 8
const PLACE_SWEEPS = 12

type Neighbours = [number, number][][]

export function layOutLayers(nodes: number, edges: LayoutEdge[], widths: { node: number; bend: number; gap: number }): Layout {
  const layer = layersOf(nodes, edges)
  const layers = layer.reduce((m, l) => Math.max(m, l + 1), 0)
  const rowOf = [...layer]
  const width = new Array<number>(nodes).fill(widths.node)
  const above: Neighbours = Array.from({ length: nodes }, () => [])
  const below: Neighbours = Array.from({ length: nodes }, () => [])
  const ways = edges.map((e) => {
    const [upper, lower] = layer[e.from]! <= layer[e.to]! ? [e.from, e.to] : [e.to, e.from]
    const way: number[] = []
    if (layer[upper] === layer[lower]) return way
    let last = upper
    const tie = (to: number) => {
      below[last]!.push([to, e.weight])
      above[to]!.push([last, e.weight])
      last = to
    }
    for (let l = layer[upper]! + 1; l < layer[lower]!; l++) {
      const bend = rowOf.push(l) - 1
      width.push(widths.bend)
      above.push([])
      below.push([])
      way.push(bend)
      tie(bend)
    }
    tie(lower)
    return way
  })
  const rows: number[][] = Array.from({ length: layers }, () => [])
  rowOf.forEach((l, p) => rows[l]!.push(p))
  const x = new Array<number>(rowOf.length).fill(0)
  const middle = (p: number, side: Neighbours) => {
    let total = 0
    let weight = 0
    for (const [other, w] of side[p]!) {
      total += x[other]! * (w + 1e-6)
      weight += w + 1e-6
    }
    return weight > 0 ? total / weight : x[p]!
  }
  const spread = (row: number[]) => row.forEach((p, i) => (x[p] = (i + 0.5) / row.length))
  rows.forEach(spread)
  const sweep = (times: number, visit: (row: number[], side: Neighbours) => void) => {
    for (let s = 0; s < times; s++) for (const row of s % 2 ? [...rows].reverse() : rows) visit(row, s % 2 ? below : above)
  }
  sweep(ORDER_SWEEPS, (row, side) => {
    const wanted = new Map(row.map((p) => [p, middle(p, side)]))
    row.sort((a, b) => wanted.get(a)! - wanted.get(b)!)
    spread(row)
  })
  const apart = (a: number, b: number) => (width[a]! + width[b]!) / 2 + widths.gap
  for (const row of rows) row.forEach((p, i) => (x[p] = i === 0 ? 0 : x[row[i - 1]!]! + apart(row[i - 1]!, p)))
  sweep(PLACE_SWEEPS, (row, side) => pool(row, row.map((p) => middle(p, side)), row.map((p) => side[p]!.reduce((s, [, w]) => s + w, 1e-3)), apart, x))
  let left = Infinity
  let right = -Infinity
  x.forEach((centre, p) => {
    left = Math.min(left, centre - width[p]! / 2)
    right = Math.max(right, centre + width[p]! / 2)
  })
  if (nodes === 0) left = right = 0
  return { layer, layers, width: right - left, x: x.slice(0, nodes).map((v) => v - left), bends: ways.map((way) => way.map((p) => x[p]! - left)) }
}

function layersOf(nodes: number, edges: LayoutEdge[]): number[] {
  const out: number[][] = Array.from({ length: nodes }, () => [])
  const hasUpper = new Uint8Array(nodes)
  edges.forEach((e, i) => {
    if (e.from === e.to) return
    out[e.from]!.push(i)
    hasUpper[e.to] = 1
  })
  const state = new Uint8Array(nodes)
  const closes = new Uint8Array(edges.length)
  const finished: number[] = []
  const walk = (root: number) => {
    if (state[root]) return
    const stack = [{ node: root, next: 0 }]
    state[root] = 1
    while (stack.length > 0) {
      const top = stack.at(-1)!
      const e = out[top.node]![top.next++]
      if (e === undefined) {
        state[top.node] = 2
        finished.push(top.node)
        stack.pop()
      } else if (state[edges[e]!.to] === 1) closes[e] = 1
      else if (state[edges[e]!.to] === 0) {
        state[edges[e]!.to] = 1
        stack.push({ node: edges[e]!.to, next: 0 })
      }
    }
  }
  if (nodes > 0) walk(0)
  for (let v = 0; v < nodes; v++) if (!hasUpper[v]) walk(v)
  for (let v = 0; v < nodes; v++) walk(v)
  const layer = new Array<number>(nodes).fill(0)
  for (const v of finished.reverse()) {
    for (const e of out[v]!) if (!closes[e]) layer[edges[e]!.to] = Math.max(layer[edges[e]!.to]!, layer[v]! + 1)
  }
  return layer
}

// Least squares, subject to a min distance between neighbours.
function pool(row: number[], wanted: number[], weight: number[], apart: (a: number, b: number) => number, x: number[]): void {
  const offset = [0]
  for (let i = 1; i < row.length; i++) offset.push(offset[i - 1]! + apart(row[i - 1]!, row[i]!))
  const blocks: { sum: number; weight: number; begin: number }[] = []
  const mean = (b: { sum: number; weight: number }) => b.sum / b.weight
  for (let i = 0; i < row.length; i++) {
    blocks.push({ sum: (wanted[i]! - offset[i]!) * weight[i]!, weight: weight[i]!, begin: i })
    while (blocks.length > 1 && mean(blocks.at(-2)!) > mean(blocks.at(-1)!)) {
      const last = blocks.pop()!
      blocks.at(-1)!.sum += last.sum
      blocks.at(-1)!.weight += last.weight
    }
  }
  blocks.forEach((b, k) => {
    for (let i = b.begin; i < (blocks[k + 1]?.begin ?? row.length); i++) x[row[i]!] = mean(b) + offset[i]!
  })
}
