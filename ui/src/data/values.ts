import type { Cell, Column, ColumnType, UsedColumn } from '../api/datasets'
import { bytes, count, dateTime, duration, exactInstant, exactNs, grouped } from '../parts/format'

// Formats a dataset's values. Names carry the unit: *_ns is a duration (time_ns an instant), *bytes a size.

export const INSTANT = 'time_ns'

// The column an aggregate is of: p95(latency_ns) → latency_ns.
export const columnInside = (name: string): string => /^[a-z][\w.]*\((.*)\)(_low|_high)?$/.exec(name)?.[1] ?? name
const isCounted = (name: string): boolean => /^(count|distinct)\b/.test(name)

export type Unit = 'instant' | 'duration' | 'bytes' | 'number'

export function unitOf(name: string): Unit {
  if (isCounted(name)) return 'number'
  const inner = columnInside(name)
  if (inner === INSTANT) return 'instant'
  if (/_ns$/.test(inner)) return 'duration'
  return /(^|_)bytes$/.test(inner) ? 'bytes' : 'number'
}

// `double` is the server's name; readers know it as a number.
export const typeName = (type: ColumnType): string => (type === 'double' ? 'number' : type)

export const isNumeric = (column: Column): boolean => column.type === 'int' || column.type === 'double'

export const numberOf = (cell: Cell): number | null =>
  cell === null || typeof cell === 'string' ? null : typeof cell === 'boolean' ? (cell ? 1 : 0) : Number(cell)

function plain(value: number): string {
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return grouped(value)
  const size = Math.abs(value)
  if (size !== 0 && (size < 0.001 || size >= 1e15)) return value.toPrecision(3)
  return size >= 1000 ? grouped(Math.round(value)) : String(Number(value.toPrecision(3)))
}

export function formatNumber(name: string, value: number): string {
  const unit = unitOf(name)
  if (unit === 'duration') return duration(Math.round(value))
  if (unit === 'bytes') return value < 0 ? `−${bytes(Math.round(-value))}` : bytes(Math.round(value))
  if (unit === 'instant') return dateTime(BigInt(Math.round(value)))
  return plain(value).replace(/^-/, '−')
}

export const signed = (name: string, value: number): string => (value > 0 ? `+${formatNumber(name, value)}` : formatNumber(name, value))

export const formatTick = formatNumber

export function formatCell(column: Column, cell: Cell): string {
  if (cell === null) return '–'
  if (typeof cell === 'boolean') return String(cell)
  if (typeof cell === 'string') return column.type === 'stack' ? (cell.split('\n').at(-1) ?? '') : cell
  if (typeof cell === 'bigint' && unitOf(column.name) === 'instant') return dateTime(cell)
  return formatNumber(column.name, Number(cell))
}

// All digits, for tooltips.
export function exactCell(column: Column, cell: Cell): string {
  if (cell === null) return 'null'
  if (typeof cell === 'bigint' || typeof cell === 'number') {
    const unit = unitOf(column.name)
    if (unit === 'instant' && typeof cell === 'bigint') return `${exactInstant(cell)} · ${cell} ns`
    if (unit === 'duration' && (typeof cell === 'bigint' || Number.isInteger(cell))) return exactNs(cell)
    return String(cell)
  }
  return String(cell)
}

// The default metric: the row's duration, else the most used number.
export function usualMetric(columns: UsedColumn[]): string {
  const numbers = columns.filter((c) => isNumeric(c) && c.name !== INSTANT)
  const named = ['latency_ns', 'duration_ns', 'latency', 'duration'].find((n) => numbers.some((c) => c.name === n))
  return named ?? numbers.find((c) => unitOf(c.name) === 'duration')?.name ?? numbers[0]?.name ?? ''
}

export function usualGroup(columns: UsedColumn[]): string {
  const texts = columns.filter((c) => (c.type === 'text' || c.type === 'bool') && !['trace_id', 'row_key', 'complete'].includes(c.name))
  return texts.find((c) => c.name === 'service')?.name ?? texts[0]?.name ?? ''
}

export const rowsText = (n: number): string => count(n, 'row')
