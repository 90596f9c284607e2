import type { StacksAnswer } from '../api/types'

// Stack samples of one execution unit as boxes to draw: in time order, merged (largest on the left), or around one
// function. A box covers [start, start + length) on its level.

export interface Boxes {
  count: number
  start: Float64Array
  length: Float64Array
  level: Int32Array
  name: Int32Array // index into strings
  // First box of each level; boxes are sorted by (level, start), so a level can be searched.
  levelFirst: Int32Array
  levels: number
  from: number
  to: number
}

export interface Samples {
  strings: string[]
  parent: Int32Array
  frameName: Int32Array
  // Time ranges in which a stack was seen, ordered and without overlap.
  start: Float64Array
  length: Float64Array
  stack: Int32Array
  taken: number // number of samples
  from: number
  to: number
  interval: number // usual time between samples; 0 if stacks come with their length
}

// A sample stands for the time until the next one, but for at most 1.5 times the median gap, so that a pause in sampling
// does not count as work. A stack on a block covers the block; where blocks nest, the inner one's stack counts.
export function samplesOf(answer: StacksAnswer, unit: number): Samples {
  const { time, length, unit: units, stack } = answer.samples
  const own: number[] = []
  for (let i = 0; i < time.length; i++) if (units[i] === unit && stack[i]! >= 0) own.push(i)
  const instants = own.filter((i) => length[i] === 0)
  const gaps: number[] = []
  for (let k = 1; k < instants.length; k++) if (time[instants[k]!]! > time[instants[k - 1]!]!) gaps.push(time[instants[k]!]! - time[instants[k - 1]!]!)
  gaps.sort((a, b) => a - b)
  const interval = gaps.length ? gaps[gaps.length >> 1]! : 0
  const end = new Map<number, number>()
  instants.forEach((i, k) => {
    const next = k + 1 < instants.length ? time[instants[k + 1]!]! : Infinity
    end.set(i, Math.min(next, time[i]! + Math.max(interval * (next === Infinity ? 1 : 1.5), 1)))
  })
  for (const i of own) if (length[i]! > 0) end.set(i, time[i]! + length[i]!)

  const starts: number[] = []
  const ends: number[] = []
  const stacks: number[] = []
  const emit = (from: number, to: number, s: number) => {
    if (to <= from) return
    const last = stacks.length - 1
    if (last >= 0 && stacks[last] === s && ends[last] === from) ends[last] = to
    else {
      starts.push(from)
      ends.push(to)
      stacks.push(s)
    }
  }
  // Samples are sorted by start; those still open form a stack with the innermost on top.
  const open: number[] = []
  let at = -Infinity
  const close = (until: number) => {
    while (open.length > 0) {
      const top = open[open.length - 1]!
      const to = Math.min(end.get(top)!, until)
      emit(Math.max(at, time[top]!), to, stack[top]!)
      at = Math.max(at, to)
      if (end.get(top)! > until) return
      open.pop()
    }
  }
  for (const i of own) {
    close(time[i]!)
    at = Math.max(at, time[i]!)
    open.push(i)
  }
  close(Infinity)
  return {
    strings: answer.strings,
    parent: new Int32Array(answer.frames.parent),
    frameName: new Int32Array(answer.frames.name),
    start: Float64Array.from(starts),
    length: Float64Array.from(ends, (e, i) => e - starts[i]!),
    stack: Int32Array.from(stacks),
    taken: own.length,
    from: starts.length ? starts[0]! : 0,
    to: ends.length ? ends.reduce((m, e) => Math.max(m, e), 0) : 1,
    interval,
  }
}

// Outermost first.
function framesOf(s: Samples, stack: number): number[] {
  const out: number[] = []
  for (let f = stack; f >= 0; f = s.parent[f]!) out.push(f)
  return out.reverse()
}

class BoxList {
  start: number[] = []
  length: number[] = []
  level: number[] = []
  name: number[] = []
  add(start: number, length: number, level: number, name: number): number {
    this.start.push(start)
    this.length.push(length)
    this.level.push(level)
    this.name.push(name)
    return this.start.length - 1
  }
  done(from: number, to: number): Boxes {
    const n = this.start.length
    const order = Array.from({ length: n }, (_, i) => i).sort((a, b) => this.level[a]! - this.level[b]! || this.start[a]! - this.start[b]!)
    const levels = n ? this.level[order[n - 1]!]! + 1 : 0
    const levelFirst = new Int32Array(levels + 1)
    for (const l of this.level) levelFirst[l + 1]!++
    for (let l = 0; l < levels; l++) levelFirst[l + 1]! += levelFirst[l]!
    return {
      count: n,
      start: Float64Array.from(order, (i) => this.start[i]!),
      length: Float64Array.from(order, (i) => this.length[i]!),
      level: Int32Array.from(order, (i) => this.level[i]!),
      name: Int32Array.from(order, (i) => this.name[i]!),
      levelFirst,
      levels,
      from,
      to: Math.max(to, from + 1),
    }
  }
}

// In time order: neighbouring samples with the same frames share a box.
export function timeOrder(s: Samples): Boxes {
  const boxes = new BoxList()
  let openFrames: number[] = []
  let openBoxes: number[] = []
  let end = -Infinity
  for (let i = 0; i < s.stack.length; i++) {
    const frames = framesOf(s, s.stack[i]!)
    let same = 0
    if (s.start[i] === end) while (same < frames.length && same < openFrames.length && frames[same] === openFrames[same]) same++
    end = s.start[i]! + s.length[i]!
    openBoxes = openBoxes.slice(0, same)
    for (const box of openBoxes) boxes.length[box] = end - boxes.start[box]!
    for (let level = same; level < frames.length; level++) openBoxes.push(boxes.add(s.start[i]!, s.length[i]!, level, s.frameName[frames[level]!]!))
    openFrames = frames
  }
  return boxes.done(s.from, s.to)
}

interface Node {
  name: number
  total: number
  children: Map<number, Node>
}
const node = (name: number): Node => ({ name, total: 0, children: new Map() })

function addPath(root: Node, names: Iterable<number>, weight: number) {
  root.total += weight
  let at = root
  for (const name of names) {
    let next = at.children.get(name)
    if (!next) at.children.set(name, (next = node(name)))
    next.total += weight
    at = next
  }
}

function layOut(root: Node, strings: string[], flip: 'down' | 'up'): Boxes {
  const boxes = new BoxList()
  let deepest = 0
  // Without recursion: stacks may be thousands of frames deep.
  const todo: [Node, number, number][] = [[root, 0, -1]]
  while (todo.length > 0) {
    const [n, from, level] = todo.pop()!
    if (level >= 0) boxes.add(from, n.total, level, n.name)
    deepest = Math.max(deepest, level)
    let at = from
    const heaviest = [...n.children.values()].sort((a, b) => b.total - a.total || (strings[a.name]! < strings[b.name]! ? -1 : 1))
    for (const child of heaviest) {
      todo.push([child, at, level + 1])
      at += child.total
    }
  }
  if (flip === 'up') boxes.level = boxes.level.map((l) => deepest - l)
  return boxes.done(0, root.total)
}

// Samples merged by stack, largest on the left.
export function leftHeavy(s: Samples): Boxes {
  const root = node(-1)
  for (let i = 0; i < s.stack.length; i++) addPath(root, framesOf(s, s.stack[i]!).map((f) => s.frameName[f]!), s.length[i]!)
  return layOut(root, s.strings, 'down')
}

// The callers (upwards) and callees of one function. Of recursive calls the outermost counts.
export function sandwich(s: Samples, name: number): { callers: Boxes; callees: Boxes } {
  const callers = node(name)
  const callees = node(name)
  for (let i = 0; i < s.stack.length; i++) {
    const names = framesOf(s, s.stack[i]!).map((f) => s.frameName[f]!)
    const at = names.indexOf(name)
    if (at < 0) continue
    addPath(callers, names.slice(0, at).reverse(), s.length[i]!)
    addPath(callees, names.slice(at), s.length[i]!)
  }
  return { callers: layOut(callers, s.strings, 'up'), callees: layOut(callees, s.strings, 'down') }
}

export interface FunctionTotal {
  name: number
  total: number
  self: number
}

// Total and own time of each function. A recursive function counts once per stack.
export function functionTotals(s: Samples): FunctionTotal[] {
  const totals = new Map<number, FunctionTotal>()
  for (let i = 0; i < s.stack.length; i++) {
    const names = framesOf(s, s.stack[i]!).map((f) => s.frameName[f]!)
    for (const name of new Set(names)) {
      let t = totals.get(name)
      if (!t) totals.set(name, (t = { name, total: 0, self: 0 }))
      t.total += s.length[i]!
    }
    totals.get(names[names.length - 1]!)!.self += s.length[i]!
  }
  return [...totals.values()].sort((a, b) => b.self - a.self || b.total - a.total)
}

// The box at (level, time), or -1.
export function boxAt(b: Boxes, level: number, time: number): number {
  if (level < 0 || level >= b.levels) return -1
  let low = b.levelFirst[level]!
  let high = b.levelFirst[level + 1]!
  while (low < high) {
    const half = (low + high) >> 1
    if (b.start[half]! + b.length[half]! <= time) low = half + 1
    else high = half
  }
  return low < b.levelFirst[level + 1]! && b.start[low]! <= time ? low : -1
}
