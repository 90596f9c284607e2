// The traces this browser opened last, for the palette and the Trace page.

export interface RecentTrace {
  id: string
  label: string
  took: string
}

const KEY = 'wherefore.recent'
const LIMIT = 12

export function recentTraces(): RecentTrace[] {
  try {
    const list: unknown = JSON.parse(localStorage.getItem(KEY) ?? '[]')
    return Array.isArray(list) ? (list as RecentTrace[]).filter((t) => /^[0-9a-f]{32}$/.test(t.id)) : []
  } catch {
    return []
  }
}

export function rememberTrace(trace: RecentTrace): void {
  try {
    const rest = recentTraces().filter((t) => t.id !== trace.id)
    localStorage.setItem(KEY, JSON.stringify([trace, ...rest].slice(0, LIMIT)))
  } catch {
    // Without storage there is no recent list; everything else works.
  }
}
