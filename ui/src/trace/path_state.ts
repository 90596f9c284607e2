import { useEffect, useState } from 'react'
import { getCriticalPath } from '../api/client'
import { useAnswer, type Answer } from '../api/use_answer'
import { decodePath, type PathModel } from './path_model'
import type { Clock, Waterfall } from './waterfall_model'

export interface PathState extends Answer<PathModel> {
  retry: () => void
}

// The path the URL asks for: between `from` and `to` where given, replayed with the changes of `what_if`.
export function pathQuery(params: URLSearchParams, clock: Clock): URLSearchParams {
  const query = new URLSearchParams()
  for (const key of ['from', 'to']) if (params.get(key)) query.set(key, params.get(key)!)
  for (const change of params.getAll('what_if')) query.append('what_if', change)
  if (clock === 'raw') query.set('clock', 'raw')
  return query
}

// Asked once the waterfall is on the screen and the browser has nothing better to do: the trace must not wait for
// its path.
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
