import { getStatus } from '../api/client'
import { backfillDataset, type BackfillAnswer } from '../api/datasets'
import { ns, type ExactInt } from '../api/exact_json'

// Adds rows of stored traces, one piece of time after the other, so that there is progress to show and a point to stop.
// Rows are replaced, not duplicated: a stopped backfill keeps what it did and can be started again.

const PIECES = 32n

export interface Progress {
  done: number // pieces
  of: number
  total: BackfillAnswer
}

const NOTHING: BackfillAnswer = { traces: 0, matched: 0, rows: 0, unusable: 0, over_budget: 0, rows_dropped: 0 }

export function piecesOf(oldest: bigint, newest: bigint): [bigint, bigint][] {
  const end = newest + 1n
  const pieces: [bigint, bigint][] = []
  let from = oldest
  for (let piece = 1n; piece <= PIECES; piece++) {
    const until = piece === PIECES ? end : oldest + ((end - oldest) * piece) / PIECES
    if (until <= from) continue
    pieces.push([from, until])
    from = until
  }
  return pieces
}

export async function backfill(name: string, signal: AbortSignal, onProgress: (progress: Progress) => void): Promise<BackfillAnswer> {
  const { store } = await getStatus(signal)
  const pieces = store.oldest_ns ? piecesOf(ns(store.oldest_ns as ExactInt), ns(store.newest_ns as ExactInt)) : []
  const total = { ...NOTHING }
  for (const [i, [from, until]] of pieces.entries()) {
    onProgress({ done: i, of: pieces.length, total: { ...total } })
    const one = await backfillDataset(name, from, until, signal)
    for (const key of Object.keys(NOTHING) as (keyof BackfillAnswer)[]) total[key] += Number(one[key])
  }
  return total
}
