import type { Cell, Rows } from '../api/datasets'
import { numberOf } from '../data/values'

// Stacks of two populations merged into one tree. Values are per row, so populations of different size compare.

export interface Frame {
  name: string
  depth: number
  parent: number
  a: number
  b: number
  // Own time per row, without callees.
  ownA: number
  ownB: number
  children: Map<string, number>
}

export interface FlameTree {
  frames: Frame[]
  depth: number
}

export function flameTree(a: Rows, b: Rows): FlameTree {
  const frames: Frame[] = [{ name: 'all', depth: 0, parent: -1, a: 0, b: 0, ownA: 0, ownB: 0, children: new Map() }]
  let deepest = 0
  const totals = { a: total(a), b: total(b) }
  for (const side of ['a', 'b'] as const) {
    const rows = side === 'a' ? a : b
    for (const row of rows.rows) {
      const stack = row[0]
      const value = (numberOf(row[1] ?? null) ?? 0) / (totals[side] || 1)
      if (typeof stack !== 'string' || value === 0) continue
      let at = 0
      frames[0]![side] += value
      for (const name of stack.split('\n')) {
        let next = frames[at]!.children.get(name)
        if (next === undefined) {
          next = frames.length
          frames.push({ name, depth: frames[at]!.depth + 1, parent: at, a: 0, b: 0, ownA: 0, ownB: 0, children: new Map() })
          frames[at]!.children.set(name, next)
          deepest = Math.max(deepest, frames[next]!.depth)
        }
        at = next
        frames[at]![side] += value
      }
      frames[at]![side === 'a' ? 'ownA' : 'ownB'] += value
    }
  }
  return { frames, depth: deepest }
}

// Number of rows of a population.
function total(rows: Rows): number {
  const at = rows.columns.findIndex((c) => c.name === 'count')
  return rows.rows.reduce((sum, row: Cell[]) => sum + (numberOf(row[at] ?? null) ?? 0), 0)
}

export interface FunctionChange {
  name: string
  a: number
  b: number
}

// Own time per function, summed over its frames, largest change first.
export function functionChanges(tree: FlameTree): FunctionChange[] {
  const byName = new Map<string, FunctionChange>()
  for (const f of tree.frames) {
    if (f.depth === 0) continue
    const one = byName.get(f.name) ?? { name: f.name, a: 0, b: 0 }
    one.a += f.ownA
    one.b += f.ownB
    byName.set(f.name, one)
  }
  return [...byName.values()].filter((f) => f.a !== 0 || f.b !== 0).sort((x, y) => Math.abs(y.b - y.a) - Math.abs(x.b - x.a) || (x.name < y.name ? -1 : 1))
}
