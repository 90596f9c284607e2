// The client: starts traces, adds each event to its trace, and ends traces without activity.
//
// It runs in other people's pages: it never throws into them (`guard` wraps everything the page or the browser calls),
// never blocks, uses bounded memory (traces × events, and the sender's queue), and can be switched off.
import type { Nanos } from './clock'
import { MS, fromMs, now } from './clock'
import type { Watch } from './entries'
import { watchEntries } from './entries'
import type { Facts } from './event'
import { watchClicks, watchScrolls } from './interactions'
import { guard, listen } from './guard'
import { countLoss, losses } from './losses'
import { navigationContext, recordNavigation } from './navigation'
import type { Settings } from './options'
import { makeRequests, wrapFetch, wrapXhr } from './requests'
import { recordLoad, shownUrl } from './resource_load'
import { makeSender } from './sender'
import type { Cause } from './trace'
import { Trace } from './trace'
import type { SpanContext } from './trace_context'
import { contextOfTiming, randomHex } from './trace_context'

const MAX_OPEN = 8 // traces at once; a new one ends the oldest
const TICK_MS = 200

// What start() returns to the page.
export interface Wherefore {
  // Adds a point to the trace in progress: mark('display_done').
  mark(name: string, facts?: Facts): void
  // Runs `body`, which must be synchronous, as a block. Returns what it returns, and throws what it throws.
  block<T>(name: string, body: () => T, facts?: Facts): T
  // Starts a trace for something that is neither navigation, click nor scroll.
  trace(name: string, facts?: Facts): void
  // Sends queued events.
  flush(): void
  // What was lost, by name.
  counters(): Record<string, number>
  // The off switch: ends open traces, sends them, and removes all hooks from the page.
  stop(): void
}

export function runClient(settings: Settings): Wherefore {
  const host = settings.host || sessionName()
  const shown = settings.shownUrl ?? shownUrl
  const endpoint = new URL(settings.endpoint, document.baseURI).href
  const sender = makeSender(endpoint, settings.flushMs, window.fetch.bind(window))
  const watches: Watch[] = []
  const undo: (() => void)[] = []
  let open: Trace[] = [] // by start, latest last
  let navigation: Trace | undefined
  let server: SpanContext | undefined // context of the server that served this page
  let described = false // the navigation is recorded
  let waited = !settings.waitFor
  let largestPaint: Nanos = 0
  let tokens = settings.startsPerMinute
  let refilled = now()
  let timer: ReturnType<typeof setTimeout> | undefined
  let stopped = false

  const requests = makeRequests({
    traceNow: () => traceAt(now()),
    shown,
    propagates: ({ href, origin }) => href !== endpoint && (origin === location.origin || settings.propagateTo.includes(origin)),
    answered,
  })

  // ---- traces

  function start(cause: Cause, at: Nanos, name: string, facts?: Facts): Trace | undefined {
    const current = now()
    const { startsPerMinute, service, maxEvents } = settings
    tokens = Math.min(startsPerMinute, tokens + ((current - refilled) / (60000 * MS)) * startsPerMinute)
    refilled = current
    if (stopped) return undefined
    if (tokens < 1) return countLoss('starts_limited'), undefined
    tokens--
    if (open.length >= MAX_OPEN) end(open[0]!)
    const trace = new Trace({ service, host, maxEvents, write: sender.add }, cause, at, name, { page: shown(location.href), ...facts })
    open.push(trace)
    if (cause !== 'navigation') decideLocally(trace)
    scheduleTick()
    return trace
  }

  // If the client decides, it does so at the start; if the server decides, its responses do.
  function decideLocally(trace: Trace): void {
    if (settings.decide === 'client') trace.decide(Math.random() < settings.sample)
  }

  function answered(trace: Trace, context: SpanContext | undefined): void {
    if (context?.traceId === trace.id) trace.decide(context.sampled)
  }

  // The trace for an event at `at`: the last one that started before it.
  function traceAt(at: Nanos): Trace | undefined {
    for (let i = open.length; i--; ) if (open[i]!.start <= at) return open[i]
    return undefined
  }

  function addToTraceAt(at: Nanos, put: (trace: Trace) => void): void {
    const trace = traceAt(at)
    if (trace) put(trace)
    else countLoss('unattributed')
  }

  function point(name: string, at: Nanos, facts?: Facts): void {
    addToTraceAt(at, (trace) => trace.point(name, at, facts))
    if (name === settings.waitFor) waited = true
  }

  function end(trace: Trace): void {
    if (trace === navigation) {
      describeNavigation()
      if (largestPaint) trace.point('largest_contentful_paint', largestPaint)
    }
    requests.settle(trace)
    trace.end()
    open = open.filter((t) => t !== trace)
  }

  function scheduleTick(): void {
    timer ??= setTimeout(guard(() => {
      timer = undefined
      drain()
      const current = now()
      for (const trace of open) {
        const quiet = !trace.requestsInProgress && current - trace.lastActivity >= settings.quietMs * MS
        const ready = trace !== navigation || (described && waited)
        if ((ready && quiet) || current - trace.start >= settings.maxTraceMs * MS) end(trace)
      }
      if (open.length) scheduleTick()
    }), TICK_MS)
  }

  // ---- the navigation

  // Adopts the trace id and the sampled flag of the server that served the page, unless events were already sent under
  // another id.
  function adoptServerContext(): void {
    server ??= navigationContext()
    if (!server || navigation!.decision !== 'pending') return
    navigation!.id = server.traceId
    if (settings.decide === 'server') navigation!.decide(server.sampled)
    else decideLocally(navigation!)
  }

  function describeNavigation(): void {
    if (described || !navigation) return
    described = true
    adoptServerContext()
    decideLocally(navigation)
    recordNavigation(navigation, server, shown(location.href))
  }

  // ---- hooks

  function drain(): void {
    for (const watch of watches) watch.drain()
  }

  function onPageHide(): void {
    drain()
    for (const trace of open) end(trace)
    sender.unload()
  }

  function watch(type: string, each: (entry: PerformanceEntry, at: Nanos) => void): void {
    const found = watchEntries(type, (entry) => each(entry, fromMs(entry.startTime)))
    if (found) watches.push(found)
  }

  function load(entry: PerformanceResourceTiming, at: Nanos): void {
    if (entry.name === endpoint) return // our own
    const call = requests.match(entry)
    const record = (trace: Trace) => {
      answered(trace, contextOfTiming(entry))
      recordLoad(trace, entry, shown(entry.name), call?.block)
    }
    if (call) record(call.trace)
    else addToTraceAt(at, record)
  }

  const client: Wherefore = {
    mark: guard((name, facts) => point(name, now(), facts)),

    block(name, body, facts) {
      let finish: (() => void) | undefined
      guard(() => {
        finish = traceAt(now())?.begin(name, facts)
      })()
      try {
        return body()
      } finally {
        if (finish) guard(finish)()
      }
    },

    trace: guard((name, facts) => void start('code', now(), name, facts)),

    flush: guard(() => {
      drain()
      sender.flush()
    }),

    counters: losses as () => Record<string, number>,

    stop() {
      stopped = true
      undo.push(onPageHide, ...watches.map((w) => w.stop), () => clearTimeout(timer))
      for (const step of undo.splice(0)) guard(step)()
    },
  }

  try {
    if (settings.requests) undo.push(wrapFetch(requests), wrapXhr(requests))
    if (settings.clicks) undo.push(watchClicks(start))
    if (settings.scrolls) undo.push(watchScrolls(start))
    undo.push(listen(['pagehide'], onPageHide))
    undo.push(listen(['visibilitychange'], () => {
      if (document.hidden) drain(), sender.unload()
    }))
    if (settings.navigation) {
      navigation = start('navigation', 0, 'navigation')
      if (navigation) adoptServerContext()
      // loadEventEnd is known in the task after the load event.
      if (document.readyState === 'complete') describeNavigation()
      else undo.push(listen(['load'], ({ target }) => void (target === document && setTimeout(guard(describeNavigation)))))
    }
    if (settings.resources) watch('resource', (entry, at) => load(entry as PerformanceResourceTiming, at))
    if (settings.marks) watch('mark', (entry, at) => point(entry.name, at))
    if (settings.longTasks) watch('longtask', (entry, at) => addToTraceAt(at, (trace) => trace.pastBlock('long_task', at, at + fromMs(entry.duration))))
    // first_paint, first_contentful_paint
    watch('paint', ({ name }, at) => point(name.replace(/-/g, '_'), at))
    watch('largest-contentful-paint', (_, at) => (largestPaint = at))
  } catch (cause) {
    client.stop() // remove the hooks that were installed
    throw cause
  }
  return client
}

// A name for the browser's clock, kept as long as the tab, so that the server can measure its offset.
function sessionName(): string {
  const fresh = `browser-${randomHex(4)}`
  try {
    const known = sessionStorage.getItem('wherefore.host')
    if (!known) sessionStorage.setItem('wherefore.host', fresh)
    return known ?? fresh
  } catch {
    return fresh // no storage here
  }
}
