import { parseDuration } from '../parts/format'
import type { Choice } from './QueryResults'
import type { Mode } from './query_completion'
import { addsUp, valueText, type Results } from './query_results'
import type { Outline } from './query_text'
import { guessUnit, UNITS, type Unit } from './units'

// The state of the view in the URL.

export const INTERVALS = ['200ms', '1s', '5s', '30s', '1m', '10m']
export const LENGTHS: [string, string][] = [['10s', '10 s'], ['30s', '30 s'], ['1m', '1 min'], ['10m', '10 min'], ['1h', '1 h'], ['none', 'until stopped']]
export const DEFAULT_INTERVAL = '1s'
export const DEFAULT_FOR = '1m'

export const modeOf = (params: URLSearchParams): Mode => (params.get('mode') === 'stored' ? 'stored' : 'live')

export function intervalMs(text: string): number {
  const ns = parseDuration(text)
  return ns === null ? 1000 : Math.min(3_600_000, Math.max(50, Math.round(ns / 1e6)))
}

function index(text: string | null, length: number): number | null {
  const n = text === null || !/^\d+$/.test(text) ? -1 : Number(text)
  return n >= 0 && n < length ? n : null
}

// The key with more values makes the rows, because there is more space downwards.
function usualRows(results: Results): number {
  const values = (key: number) => new Set(results.groups.map((g) => valueText(g.keys[key]!))).size
  return results.keys.length > 1 && values(1) > values(0) ? 1 : 0
}

// By default two keys give a pivot table and one key gives lines.
export function choiceOf(params: URLSearchParams, results: Results, o: Outline): Choice {
  const keys = results.keys.length
  const value = index(params.get('value'), results.values.length) ?? 0
  const down = index(params.get('rows'), keys) ?? usualRows(results)
  const across = params.get('cols') === '-' || keys < 2 ? null : (index(params.get('cols'), keys) ?? (down === 0 ? 1 : 0))
  const item = results.values[value]
  const many = results.groups.length > 8 && keys > 1 && item !== undefined && addsUp(item)
  const by = params.get('by') === '-' || !item || !addsUp(item) ? null : (index(params.get('by'), keys) ?? (many ? 0 : null))
  const unit = UNITS.find((u) => u === params.get('unit')) ?? (item ? guessUnit(item, o) : 'number')
  const view = (['chart', 'pivot', 'table'] as const).find((v) => v === params.get('view')) ?? (keys > 1 ? 'pivot' : 'chart')
  return { view, value, unit: unit as Unit, down, across: across === down ? null : across, by }
}

export const shellQuoted = (text: string): string => `'${text.replace(/\s*\n\s*/g, ' ').trim().replace(/'/g, `'\\''`)}'`
