import type { RowsAnswer, Value } from '../api/queries'
import { parseDuration } from '../parts/format'
import type { Item, Outline } from './query_text'

// Collects rows of intervals into groups over time. Sums and counts add up, min and max are compared; of averages and
// percentiles the newest is shown until the server sends the total.

export interface Group {
  id: string
  keys: Value[]
  // One per value column, over all intervals so far.
  totals: (number | null)[]
}

export interface Point {
  ns: bigint
  values: Map<string, (number | null)[]>
}

export interface Results {
  keys: Item[]
  values: Item[]
  groups: Group[]
  // In time order; empty if the result has no time.
  points: Point[]
  bucketNs: bigint
  // For a query without groups, the rows as received; else one row per group.
  columns: string[]
  rows: Value[][]
  raw: boolean
  lost: number
  leftOut: number
}

const POINTS = 600
const GROUPS = 2000
const RAW = 1000

export const numberOf = (v: Value | undefined): number | null => (typeof v === 'number' ? v : typeof v === 'bigint' ? Number(v) : null)

export function valueText(v: Value): string {
  if (v === null) return '–'
  if (Array.isArray(v)) return `[${v.map(valueText).join(', ')}]`
  return String(v)
}

export const groupId = (keys: Value[]): string => JSON.stringify(keys, (_, v: unknown) => (typeof v === 'bigint' ? `${v}n` : v))

function merge(how: Item['merge'], a: number | null, b: number | null): number | null {
  if (a === null || b === null || how === 'newest') return b ?? a
  return how === 'sum' ? a + b : how === 'min' ? Math.min(a, b) : Math.max(a, b)
}

export class Collected {
  private readonly keyAt: number[] = []
  private readonly valueAt: number[] = []
  private readonly windowAt: number = -1
  private readonly keys: Item[] = []
  private readonly values: Item[] = []
  private groups = new Map<string, Group>()
  private readonly points = new Map<bigint, Point>()
  private rows: Value[][] = []
  private lost = 0
  private leftOut = 0
  private readonly bucketNs: bigint

  constructor(private readonly columns: string[], o: Outline | null, intervalNs: bigint) {
    const ahead = o?.window !== null && o !== null && columns[0] === 'window' ? 1 : 0
    if (ahead) this.windowAt = 0
    this.bucketNs = ahead ? BigInt(parseDuration(o!.window!) ?? 1) : intervalNs
    columns.slice(ahead).forEach((name, i) => {
      const item = o?.items[i] ?? { name, text: name, merge: null }
      const shown = { ...item, name }
      if (item.merge === null) {
        this.keys.push(shown)
        this.keyAt.push(i + ahead)
      } else {
        this.values.push(shown)
        this.valueAt.push(i + ahead)
      }
    })
    this.raw = o === null || o.raw
  }

  private readonly raw: boolean

  // `atNs`: the interval's start; null if the rows do not belong to an interval.
  add(rows: Value[][], atNs: bigint | null, lost: number): void {
    this.lost += lost
    if (this.raw) {
      this.rows = [...this.rows, ...rows].slice(-RAW)
      return
    }
    if (atNs !== null && this.windowAt < 0) this.pointAt(atNs)
    for (const row of rows) {
      const group = this.groupOf(row)
      if (!group) continue
      const values = this.valueAt.map((i) => numberOf(row[i]))
      group.totals = values.map((v, i) => merge(this.values[i]!.merge, group.totals[i]!, v))
      const time = this.windowAt >= 0 ? row[this.windowAt] : atNs
      if (time === null || time === undefined) continue
      const point = this.pointAt(BigInt(time as bigint))
      const old = point.values.get(group.id)
      point.values.set(group.id, old ? values.map((v, i) => merge(this.values[i]!.merge, old[i]!, v)) : values)
    }
  }

  // The server merged the partial results, so averages and percentiles are now correct.
  setTotals(answer: RowsAnswer): void {
    if (this.raw) return
    for (const group of this.groups.values()) group.totals = this.values.map(() => null)
    for (const row of answer.rows) {
      const group = this.groupOf(row)
      if (group) group.totals = this.valueAt.map((at, i) => merge(this.values[i]!.merge, group.totals[i]!, numberOf(row[at])))
    }
  }

  private groupOf(row: Value[]): Group | null {
    const keys = this.keyAt.map((i) => row[i] ?? null)
    const id = groupId(keys)
    let group = this.groups.get(id)
    if (!group) {
      if (this.groups.size >= GROUPS) {
        this.leftOut++
        return null
      }
      this.groups.set(id, (group = { id, keys, totals: this.values.map(() => null) }))
    }
    return group
  }

  private pointAt(atNs: bigint): Point {
    let point = this.points.get(atNs)
    if (!point) {
      this.points.set(atNs, (point = { ns: atNs, values: new Map() }))
      if (this.points.size > POINTS) this.points.delete([...this.points.keys()].reduce((a, b) => (b < a ? b : a)))
    }
    return point
  }

  // A new object each time, so that React sees the change.
  snapshot(): Results {
    const groups = [...this.groups.values()]
    return {
      keys: this.keys, values: this.values, groups: groups.map((g) => ({ ...g })),
      points: [...this.points.values()].sort((a, b) => (a.ns < b.ns ? -1 : 1)),
      bucketNs: this.bucketNs, columns: this.raw ? this.columns : [...this.keys, ...this.values].map((i) => i.name),
      rows: this.raw ? this.rows : groups.map((g) => [...g.keys, ...g.totals]),
      raw: this.raw, lost: this.lost, leftOut: this.leftOut,
    }
  }
}

// Values of one column over time, merged over the given groups; null where there is none.
export function seriesOf(results: Results, groups: Group[], value: number): (number | null)[] {
  const how = results.values[value]!.merge
  return results.points.map((p) => groups.reduce<number | null>((sum, g) => {
    const v = p.values.get(g.id)?.[value] ?? null
    return v === null ? sum : merge(how, sum, v)
  }, null))
}

export const totalOf = (results: Results, groups: Group[], value: number): number | null =>
  groups.reduce<number | null>((sum, g) => (g.totals[value] === null ? sum : merge(results.values[value]!.merge, sum, g.totals[value]!)), null)

// Whether values of several groups can be merged; averages cannot.
export const addsUp = (item: Item): boolean => item.merge !== 'newest'
