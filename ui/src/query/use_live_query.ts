import { useEffect, useRef, useState } from 'react'
import { ApiError } from '../api/client'
import { followQuery, getQuery, type LiveQuery, type QueryCost } from '../api/queries'
import { Collected, type Results } from './query_results'
import { outline } from './query_text'

export interface Followed {
  state: 'none' | 'joining' | 'running' | 'again' | 'ended' | 'gone'
  query: LiveQuery | null
  results: Results | null
  // When the first and the last interval that came began and ended.
  fromNs: bigint
  untilNs: bigint
  notes: string[]
  cost: QueryCost | null
  error: ApiError | null
}

const NOTHING: Followed = { state: 'none', query: null, results: null, fromNs: 0n, untilNs: 0n, notes: [], cost: null, error: null }
// What the server remembers comes at once: the screen follows at this pace.
const PACE_MS = 80

// Follows a live query by its id or name: from what is remembered of it until it ends. What came stays on the screen.
export function useLiveQuery(id: string): Followed {
  const [followed, setFollowed] = useState<Followed>(NOTHING)
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
      setFollowed((old) => ({ ...old, state: error.code === 'not_found' ? 'gone' : old.state === 'joining' ? 'gone' : 'again', error }))
    }
    getQuery(id, abort.signal).then((query) => {
      if (abort.signal.aborted) return
      shown.current = query.id
      const collected = new Collected(query.columns, outline(query.query), BigInt(query.interval_ms) * 1_000_000n)
      const say: Followed = { ...NOTHING, state: 'running', query, cost: query.cost }
      const tell = () => {
        if (timer === 0) {
          timer = window.setTimeout(() => {
            timer = 0
            setFollowed({ ...say, notes: [...say.notes], results: collected.snapshot() })
          }, PACE_MS)
        }
      }
      tell()
      stop = followQuery(query.id, {
        onInterval: (interval) => {
          collected.add(interval.rows, interval.startNs, interval.lost)
          if (say.fromNs === 0n || interval.startNs < say.fromNs) say.fromNs = interval.startNs
          if (interval.endNs > say.untilNs) say.untilNs = interval.endNs
          say.state = 'running'
          tell()
        },
        onNote: (text) => {
          if (!say.notes.includes(text)) say.notes.push(text)
          tell()
        },
        onTotal: (total) => {
          collected.setTotals(total)
          tell()
        },
        onEnd: (_, cost) => {
          say.state = 'ended'
          if (cost) say.cost = cost
          tell()
        },
        onLost: (final) => {
          if (say.state === 'ended') return
          say.state = 'again'
          tell()
          // A stream that will not come back: the query is gone, or the server.
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
