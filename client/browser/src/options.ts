// The options of the page, and their defaults.

export interface Options {
  // Where events go: POST /api/v1/events of `wherefore serve`, or a path of the page's server that forwards there.
  endpoint?: string
  // The service name of the traces. Default: the page's host name.
  service?: string
  // The name of the clock. Default: a random name for the tab's session.
  host?: string
  // `client`: the page decides at once, by `sample`. `server`: events are held, within limits, until a response of the
  // page's server says whether to keep the trace (opportunistic tracing).
  decide?: 'client' | 'server'
  // Share of traces to keep, 0 to 1, if the client decides.
  sample?: number
  // Other origins to send traceparent to. They must allow it (CORS), or the requests fail.
  propagateTo?: string[]
  // How URLs are shown. Default: path without query, and the origin if it is not the page's.
  shownUrl?: (url: string) => string
  // The navigation's trace waits for this mark (for example `display_done`), for at most maxTraceMs.
  waitFor?: string
  // What is recorded.
  navigation?: boolean
  resources?: boolean
  requests?: boolean
  clicks?: boolean
  scrolls?: boolean
  marks?: boolean // performance.mark()
  longTasks?: boolean
  // Limits. A trace ends after `quietMs` without activity and without a request in progress.
  startsPerMinute?: number
  maxEvents?: number // of one trace
  quietMs?: number
  maxTraceMs?: number
  flushMs?: number // max time that events wait for a batch
  enabled?: boolean
}

export type Settings = Required<Omit<Options, 'shownUrl' | 'waitFor'>> & Pick<Options, 'shownUrl' | 'waitFor'>

export function withDefaults(options: Options | undefined): Settings {
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

// The off switch without a new version of the page: window.WHEREFORE_OFF = true before the client starts, or
// localStorage['wherefore.off'] = '1' in one browser.
export function switchedOff(): boolean {
  if ((window as { WHEREFORE_OFF?: unknown }).WHEREFORE_OFF) return true
  try {
    return !!localStorage.getItem('wherefore.off')
  } catch {
    return false // no storage here
  }
}
