// Counts everything the client loses, by name. The page can read the counts (client.counters()), and the next trace that
// ends carries them as counters of its unit. A page has one client, so there is one set of counts.
import type { Facts } from './event'

export type Loss =
  | 'trace_full' // events above the limit of one trace
  | 'queue_full' // events above the limit of the send queue
  | 'undecided' // events of traces for which no decision arrived
  | 'unsampled' // events held until the decision, then dropped
  | 'send_failed' // events given up after retries
  | 'refused' // events the server refused
  | 'beacon_refused' // events the browser refused to send at unload
  | 'starts_limited' // trace starts above the rate
  | 'unattributed' // loads, marks and tasks outside any trace
  | 'browser_buffer' // performance entries the browser dropped
  | 'unpropagated' // requests whose headers could not be extended
  | 'internal_error' // errors of the client, kept from the page

type Counts = Partial<Record<Loss, number>>

let counts: Counts = {}
let reported: Counts = {}

export function countLoss(loss: Loss, by = 1): void {
  if (by > 0) counts[loss] = (counts[loss] ?? 0) + by
}

export const losses = (): Counts => ({ ...counts })

// Losses since the last call.
export function newLosses(): Facts {
  const news: Facts = {}
  for (const loss in counts) {
    const more = counts[loss as Loss]! - (reported[loss as Loss] ?? 0)
    if (more > 0) news[`lost_${loss}`] = more
  }
  reported = losses()
  return news
}

export function resetLosses(): void {
  counts = {}
  reported = {}
}

