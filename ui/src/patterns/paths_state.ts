import type { TimeRange } from '../search/time_range'

// The view's part of the URL: since, until (what is looked at), normal (FROM~UNTIL, what it is compared with), algorithm,
// sort, top, rare (1: the rare slow ones), pattern, node (a place in its tree), view (graph, table) and open (clusters).

export const DEFAULT_TOP = 50
export const STANDARD_RANGE = 'all'

export function parseUsualRange(params: URLSearchParams): TimeRange | null {
  const [since, until] = (params.get('normal') ?? '').split('~')
  return since ? { since, until: until || null } : null
}

export const instant = (ns: bigint): string => ns.toString()
