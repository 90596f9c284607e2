import { useEffect, useRef, useState } from 'react'
import { ApiError } from '../api/client'
import { followQuery, getQuery, type LiveQuery, type QueryCost } from '../api/queries'
import { Collected, type Results } from './query_results'
import { outline } from './query_text'

export interface FollowedQuery {
  state: 'none' | 'joining' | 'running' | 'retrying' | 'ended' | 'gone'
  query: LiveQuery | null
  results: Results | null
  // Start of the first and end of the last interval received.
  fromNs: bigint
  untilNs: bigint
  notes: string[]
  cost: QueryCost | null
  error: ApiError | null
}

const NOTHING: FollowedQuery = { state: 'none', query: null, results: null, fromNs: 0n, untilNs: 0n, notes: [], cost: null, error: null }
// The server sends its stored intervals at once; the screen updates at this pace.
const PACE_MS = 80

// Follows a live query by id or name until it ends, beginning with the intervals the server still has. Results stay on
// the screen afterwards.
export function useLiveQuery(id: string): FollowedQuery {
  const [followed, setFollowed] = useState<FollowedQuery>(NOTHING)
  const shown = useRef('')
  useEffect(() => {
    if (id === '') {
      setFollowed(NOTHING)
      return
    }
    const abort = new AbortController()
    let stop = () => {}
    let timer = 0
    setFollowed({ ...NOTHING, state: 'joining' })
    const fail = (cause: unknown) => {
      if (abort.signal.aborted) return
      const error = cause instanceof ApiError ? cause : new ApiError('internal', String(cause), '', `query ${id}`, 0)
      setFollowed((old) => ({ ...old, state: error.code === 'not_found' ? 'gone' : old.state === 'joining' ? 'gone' : 'retrying', error }))
    }
    getQuery(id, abort.signal).then((query) => {
      if (abort.signal.aborted) return
      shown.current = query.id
      const collected = new Collected(query.columns, outline(query.query), BigInt(query.interval_ms) * 1_000_000n)
      const current: FollowedQuery = { ...NOTHING, state: 'running', query, cost: query.cost }
      const publish = () => {
        if (timer === 0) {
          timer = window.setTimeout(() => {
            timer = 0
            setFollowed({ ...current, notes: [...current.notes], results: collected.snapshot() })
          }, PACE_MS)
        }
      }
      publish()
      stop = followQuery(query.id, {
        onInterval: (interval) => {
          collected.add(interval.rows, interval.startNs, interval.lost)
          if (current.fromNs === 0n || interval.startNs < current.fromNs) current.fromNs = interval.startNs
          if (interval.endNs > current.untilNs) current.untilNs = interval.endNs
          current.state = 'running'
          publish()
        },
        onNote: (text) => {
          if (!current.notes.includes(text)) current.notes.push(text)
          publish()
        },
        onTotal: (total) => {
          collected.setTotals(total)
          publish()
        },
        onEnd: (_, cost) => {
          current.state = 'ended'
          if (cost) current.cost = cost
          publish()
        },
        onLost: (final) => {
          if (current.state === 'ended') return
          current.state = 'retrying'
          publish()
          // No retry will follow: find out whether the query is gone, or the server.
          if (final) getQuery(query.id, abort.signal).then(() => undefined, fail)
        },
      })
    }, fail)
    return () => {
      abort.abort()
      stop()
      clearTimeout(timer)
    }
  }, [id])
  return followed
}
