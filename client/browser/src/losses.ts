// Nothing is lost silently: whatever the client gives up is counted here by name. The counts are readable in the page
// (client.counters()) and travel with the next trace that ends, as counters of its unit. One page has one client, so
// one set of counts.
import type { Facts } from './event'

export type Loss =
  | 'trace_full' // events above the limit of one trace
  | 'queue_full' // events above what may wait to be sent
  | 'undecided' // events of traces for which no decision arrived
  | 'unsampled' // events kept before the decision, dropped when it was no
  | 'send_failed' // events given up after retries
  | 'refused' // events the server would not take
  | 'beacon_refused' // events the browser would not take at unload
  | 'starts_limited' // trace starts above the rate
  | 'unattributed' // loads, marks and tasks outside any trace
  | 'browser_buffer' // performance entries the browser dropped before we looked
  | 'unpropagated' // requests whose headers could not be extended
  | 'internal_error' // our own faults, kept away from the page

type Counts = Partial<Record<Loss, number>>

let counts: Counts = {}
let told: Counts = {}

export function lose(loss: Loss, by = 1): void {
  if (by > 0) counts[loss] = (counts[loss] ?? 0) + by
}

export const losses = (): Counts => ({ ...counts })

// What was lost since the last call.
export function newLosses(): Facts {
  const news: Facts = {}
  for (const loss in counts) {
    const more = counts[loss as Loss]! - (told[loss as Loss] ?? 0)
    if (more > 0) news[`lost_${loss}`] = more
  }
  told = losses()
  return news
}

export function forgetLosses(): void {
  counts = {}
  told = {}
}

