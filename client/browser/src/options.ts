// What the page may choose, and what holds if it does not.

export interface Options {
  // Where events go: POST /api/v1/events of `wherefore serve`, or a path of the page's own server that leads there.
  endpoint?: string
  // Names the process: what traces are searched by. Default: the page's host name.
  service?: string
  // Names the clock. Default: a random name that lasts as long as the tab's session.
  host?: string
  // `client`: the page decides by `sample`, at once. `server`: events wait, bounded, until an answer of the page's own
  // server says whether the trace is wanted (opportunistic tracing).
  decide?: 'client' | 'server'
  // Which share of traces is wanted, 0 to 1, where the client decides.
  sample?: number
  // Other origins whose requests carry traceparent too. They must allow it (CORS), or the requests would fail.
  propagateTo?: string[]
  // How URLs are shown. Default: path without query, and the origin where it is not the page's.
  shownUrl?: (url: string) => string
  // The navigation's trace waits for this mark (`display_done`, say), as long as maxTraceMs allows.
  waitFor?: string
  // What is recorded.
  navigation?: boolean
  resources?: boolean
  requests?: boolean
  clicks?: boolean
  scrolls?: boolean
  marks?: boolean // performance.mark()
  longTasks?: boolean
  // Limits. A trace ends after `quietMs` without anything new and without a request under way.
  startsPerMinute?: number
  maxEvents?: number // of one trace
  quietMs?: number
  maxTraceMs?: number
  flushMs?: number // how long events may wait to be sent together
  enabled?: boolean
}

export type Settings = Required<Omit<Options, 'shownUrl' | 'waitFor'>> & Pick<Options, 'shownUrl' | 'waitFor'>

export function settle(options: Options | undefined): Settings {
  return {
    endpoint: '/api/v1/events',
    service: location.hostname || 'browser',
    host: '',
    decide: 'client',
    sample: 1,
    propagateTo: [],
    navigation: true,
    resources: true,
    requests: true,
    clicks: true,
    scrolls: true,
    marks: true,
    longTasks: true,
    startsPerMinute: 60,
    maxEvents: 2000,
    quietMs: 1000,
    maxTraceMs: 60000,
    flushMs: 1000,
    enabled: true,
    ...options,
  }
}

// The off switch that needs no new version of the page: window.WHEREFORE_OFF = true before the client starts, or
// localStorage['wherefore.off'] = '1' in one browser.
export function switchedOff(): boolean {
  if ((window as { WHEREFORE_OFF?: unknown }).WHEREFORE_OFF) return true
  try {
    return !!localStorage.getItem('wherefore.off')
  } catch {
    return false // storage is forbidden here
  }
}
