import { count } from '../parts/format'

// The server's counters by name: what was lost, which requests were refused (their senders know), what was repaired.

const LOSS = /reject|drop|lost|shed|discard|clamp|invalid|unknown|hashed|over_budget|events_blacklisted/
const REFUSAL = /refus|malformed|too_large|overload|timeout|denied|unimplemented|fail/
const REPAIR = /repair/

export const isRepair = (name: string): boolean => REPAIR.test(name)
export const isLoss = (name: string): boolean => LOSS.test(name) && !isRepair(name)
export const isRefusal = (name: string): boolean => REFUSAL.test(name) && !isLoss(name) && !isRepair(name)

// The first pattern that matches a counter's name says what it counts.
const KINDS: [RegExp, (n: number) => string][] = [
  [/self_trace/, (n) => `${count(n, 'record')} of the server’s own trace lost`],
  [/spans/, (n) => `${count(n, 'span')} lost`],
  [/rows_dropped/, (n) => `${count(n, 'dataset row')} skipped`],
  [/over_budget/, (n) => `${count(n, 'trace')} over the dataset budget`],
  [/metrics|logs|profiles/, (n) => `${count(n, 'metric, log or profile record')} not stored`],
  [/events/, (n) => `${count(n, 'event')} lost`],
  [/./, (n) => `${count(n, 'other item')} lost`],
]

// "200,016 dataset rows skipped; no spans lost"
export function describeLosses(losses: [string, number][]): string {
  const totals = KINDS.map(() => 0)
  for (const [name, n] of losses) totals[KINDS.findIndex(([pattern]) => pattern.test(name))]! += n
  const parts = KINDS.flatMap(([, text], i) => (totals[i]! > 0 ? [text(totals[i]!)] : []))
  const spansLost = totals[KINDS.findIndex(([pattern]) => pattern.test('spans'))]! > 0
  return parts.join(', ') + (spansLost ? '' : '; no spans lost')
}
