import type { Clock, RowGroup, Rows, Waterfall } from './waterfall_model'

// Waterfall rows grouped by execution unit, service or thread instead of by call, with groups of one type together. A
// block is below its parent if both are in the same group.

export const GROUPINGS = ['unit', 'service', 'thread'] as const
export type Grouping = (typeof GROUPINGS)[number]

export const groupingFrom = (text: string | null): Grouping | null =>
  (GROUPINGS as readonly string[]).includes(text ?? '') ? (text as Grouping) : null

function keyOf(w: Waterfall, block: number, by: Grouping): { key: string; type: string; label: string } {
  const unit = w.units[w.unit[block]!]
  const service = w.strings[w.service[block]!]!
  if (by === 'service' || !unit) return { key: service, type: service, label: service }
  const place = [unit.host, unit.thread && `thread ${unit.thread}`].filter(Boolean).join(' ')
  if (by === 'thread') return { key: `${service} ${place}`, type: service, label: place ? `${service} · ${place}` : service }
  const type = unit.name && unit.name !== service ? `${unit.name} · ${service}` : service
  return { key: unit.id, type, label: place ? `${type} · ${place}` : type }
}

export function groupRows(w: Waterfall, folded: ReadonlySet<number>, by: Grouping, shut: ReadonlySet<string>): Rows {
  const groups = new Map<string, RowGroup & { list: number[]; first: number; type: string }>()
  const groupOf = new Array<RowGroup>(w.count)
  for (let i = 0; i < w.count; i++) {
    const { key, type, label } = keyOf(w, i, by)
    let group = groups.get(key)
    if (!group) {
      group = { key, label, type, members: new Int32Array(0), list: [], first: Infinity, shut: shut.has(key) }
      groups.set(key, group)
    }
    group.list.push(i)
    group.first = Math.min(group.first, w.times.aligned.start[i]!)
    groupOf[i] = group
  }
  const typeFirst = new Map<string, number>()
  for (const g of groups.values()) typeFirst.set(g.type, Math.min(typeFirst.get(g.type) ?? Infinity, g.first))
  const ordered = [...groups.values()].sort(
    (a, b) => typeFirst.get(a.type)! - typeFirst.get(b.type)! || (a.type < b.type ? -1 : a.type > b.type ? 1 : 0) || a.first - b.first || (a.key < b.key ? -1 : 1),
  )
  const blocks: number[] = []
  const depths: number[] = []
  const rowOf = new Int32Array(w.count)
  const depthOf = new Int32Array(w.count)
  const hidden = new Int32Array(w.count)
  const foldable = new Uint8Array(w.count)
  // The folded block that hides a block; -1 if the block has its own row.
  const owner = new Int32Array(w.count).fill(-1)
  ordered.forEach((group, g) => {
    const header = blocks.length
    group.members = Int32Array.from(group.list)
    blocks.push(-1 - g)
    depths.push(0)
    for (const b of group.list) {
      const p = w.parent[b]!
      const under = p >= 0 && groupOf[p] === group
      depthOf[b] = under ? depthOf[p]! + 1 : 0
      if (under) foldable[p] = 1
      if (group.shut) {
        rowOf[b] = header
        continue
      }
      owner[b] = under ? (owner[p]! >= 0 ? owner[p]! : folded.has(p) ? p : -1) : -1
      if (owner[b]! >= 0) {
        rowOf[b] = rowOf[owner[b]!]!
        hidden[owner[b]!]!++
        continue
      }
      rowOf[b] = blocks.length
      blocks.push(b)
      depths.push(depthOf[b]! + 1)
    }
  })
  return {
    blocks: Int32Array.from(blocks),
    rowOf,
    depth: Int32Array.from(depths),
    hidden,
    foldable,
    groups: ordered.map(({ key, label, members, shut: isShut }) => ({ key, label, members, shut: isShut })),
  }
}

// The times when a group was busy: the union of its blocks, as [from, to] pairs.
export function busyParts(w: Waterfall, members: Int32Array, clock: Clock): Float64Array {
  const { start, duration } = w.times[clock]
  const sorted = Int32Array.from(members).sort((a, b) => start[a]! - start[b]!)
  const parts: number[] = []
  for (const b of sorted) {
    const end = start[b]! + duration[b]!
    const last = parts.length - 1
    if (last >= 0 && start[b]! <= parts[last]!) parts[last] = Math.max(parts[last]!, end)
    else parts.push(start[b]!, end)
  }
  return Float64Array.from(parts)
}
