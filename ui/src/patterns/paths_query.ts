import type { TimeRange } from '../search/time_range'
import { DEFAULT_TOP } from './paths_state'

// The API query for a time window.
export function pathsQuery(params: URLSearchParams, range: TimeRange): URLSearchParams {
  const query = new URLSearchParams()
  if (range.since !== 'all') query.set('since', range.since)
  if (range.until) query.set('until', range.until)
  for (const key of ['algorithm', 'sort']) if (params.get(key)) query.set(key, params.get(key)!)
  query.set('top', params.get('top') ?? String(DEFAULT_TOP))
  return query
}

// The command that gives the same result in a terminal.
export function commandFor(query: URLSearchParams): string {
  const flags = [...query].map(([key, value]) => `--${key} ${/^[\w.:+-]+$/.test(value) ? value : `'${value.replace(/'/g, "'\\''")}'`}`)
  return ['wherefore paths', ...flags].join(' ')
}
