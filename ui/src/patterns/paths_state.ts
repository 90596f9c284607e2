import type { TimeRange } from '../search/time_range'

// URL parameters of the view: since, until (the window shown), normal (FROM~UNTIL, the usual window it is compared with),
// algorithm, sort, top, rare (1: only rare slow patterns), pattern, node (a key in its tree), view (graph, table) and open
// (clusters).

export const DEFAULT_TOP = 50
export const STANDARD_RANGE = 'all'

export function parseUsualRange(params: URLSearchParams): TimeRange | null {
  const [since, until] = (params.get('normal') ?? '').split('~')
  return since ? { since, until: until || null } : null
}

export const instant = (ns: bigint): string => ns.toString()
