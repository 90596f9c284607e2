import { useEffect, useState } from 'react'
import { getCriticalPath } from '../api/client'
import { useAnswer, type Answer } from '../api/use_answer'
import { decodePath, type PathModel } from './path_model'
import type { Clock, Waterfall } from './waterfall_model'

export interface PathState extends Answer<PathModel> {
  retry: () => void
}

// The API query for the path in the URL: between `from` and `to`, replayed with `what_if`.
export function pathQuery(params: URLSearchParams, clock: Clock): URLSearchParams {
  const query = new URLSearchParams()
  for (const key of ['from', 'to']) if (params.get(key)) query.set(key, params.get(key)!)
  for (const change of params.getAll('what_if')) query.append('what_if', change)
  if (clock === 'raw') query.set('clock', 'raw')
  return query
}

// Loads the path once the waterfall is drawn and the browser is idle, so that the trace does not wait for it.
export function useCriticalPath(w: Waterfall, params: URLSearchParams, clock: Clock): PathState {
  const [reloads, setReloads] = useState(0)
  const [drawn, setDrawn] = useState(false)
  useEffect(() => {
    let gone = false
    const ask = () => !gone && setDrawn(true)
    requestAnimationFrame(() => ('requestIdleCallback' in window ? requestIdleCallback(ask, { timeout: 500 }) : setTimeout(ask, 50)))
    return () => {
      gone = true
    }
  }, [])
  const query = pathQuery(params, clock)
  const answer = useAnswer(drawn && w.count > 0 ? `path ${w.traceId} ${query}` : '', reloads, async (signal) =>
    drawn && w.count > 0 ? decodePath(await getCriticalPath(w.traceId, query, signal), w) : null,
  )
  return { data: answer.data ?? null, error: answer.error, loading: answer.loading || !drawn, retry: () => setReloads((n) => n + 1) }
}
