import type { Comparison, Difference } from '../api/datasets'
import { formatNumber, signed } from '../data/values'
import { grouped } from '../parts/format'

// A comparison in words.

export const SIGNIFICANT = 0.05

export const probability = (p: number): string => (p < 0.001 ? '< 0.001' : p.toFixed(3))
const share = (v: number): string => `${Number((v * 100).toPrecision(3))} %`

export function sideText(d: Difference, metric: string, side: 'a' | 'b'): string {
  const value = d[side]
  if (d.question === 'mix') return share(value)
  return formatNumber(d.question === 'within' ? metric : d.column, value)
}

export function changeText(d: Difference, metric: string): string {
  if (d.question === 'mix') {
    const points = (d.b - d.a) * 100
    return `${points > 0 ? '+' : points < 0 ? '−' : ''}${Number(Math.abs(points).toPrecision(3))} points`
  }
  return signed(d.question === 'within' ? metric : d.column, d.b - d.a)
}

export function subject(d: Difference, metric: string): string {
  if (d.question === 'shift') return d.column
  if (d.question === 'mix') return `the share of ${d.column} = ${d.value ?? ''}`
  return `${metric} where ${d.column} = ${d.value ?? ''}`
}

function relative(d: Difference): string {
  return d.a === 0 ? '' : `, ${d.b >= d.a ? '+' : '−'}${Math.abs(((d.b - d.a) / d.a) * 100).toFixed(Math.abs(d.b - d.a) < d.a * 0.1 ? 1 : 0)} %`
}

export function metricSentence(c: Comparison): string {
  const { metric: m } = c
  if (!m) return `${grouped(c.nA)} rows in A, ${grouped(c.nB)} in B`
  const values = `${formatNumber(m.column, m.a)} → ${formatNumber(m.column, m.b)}`
  if (m.p > SIGNIFICANT) return `${m.column} does not differ: ${values}`
  return `${m.column} is ${m.b > m.a ? 'higher' : 'lower'} in B: ${signed(m.column, m.b - m.a)}${relative(m)} (${values})`
}

export function answerSentence(c: Comparison, metric: string): string {
  if (c.nA === 0 || c.nB === 0) return `${c.nA === 0 ? 'A' : 'B'} has no rows, so there is nothing to compare`
  const found = c.columns.filter((d) => d.q <= SIGNIFICANT)
  const first = found[0]
  if (!first) return 'No significant difference between A and B'
  return `${first.question === 'shift' && metric ? `${first.column} differs most` : `${subject(first, metric)} differs most`}: ${changeText(first, metric)}, q ${first.q < 0.001 ? '< 0.001' : `= ${first.q.toFixed(3)}`}`
}
