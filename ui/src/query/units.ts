import { formatNumber } from '../data/values'
import type { Item, Outline } from './query_text'

// Query results have no units; the unit is guessed from names, and the reader can change it.

export type Unit = 'number' | 'bytes' | 'duration'
export const UNITS: Unit[] = ['number', 'bytes', 'duration']

// formatNumber reads units from names.
const NAMES: Record<Unit, string> = { number: 'n', bytes: 'bytes', duration: 'duration_ns' }
export const show = (unit: Unit, value: number | null): string => (value === null ? '–' : formatNumber(NAMES[unit], value))

export function guessUnit(item: Item, o: Outline | null): Unit {
  const inside = /^\s*(SUM|MIN|MAX|AVERAGE|PERCENTILE)\s*\((.*)\)\s*$/is.exec(item.text)?.[2]
  if (inside === undefined) return 'number'
  const [variable = ''] = inside.split(',')
  if (/(^|[._])(ns|duration|elapsed)\s*$/i.test(variable) || /\.\w*time\b.*-.*\.\w*time\b/i.test(variable)) return 'duration'
  if (/bytes\s*$/i.test(variable)) return 'bytes'
  // For incrBytesRead.delta the tracepoint's name has the unit.
  const alias = /^\s*(\w+)\.\w+\s*$/.exec(variable)?.[1]
  const names = o?.sources.find((s) => s.alias === alias)?.names ?? []
  return names.length > 0 && names.every((n) => /bytes/i.test(n)) && /\.(delta|size|length|n)\s*$/.test(variable) ? 'bytes' : 'number'
}
