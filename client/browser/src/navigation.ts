// The load of this page: the browser's measurements as points and one edge of the navigation's trace, and the server's
// part as an RPC.
import type { Nanos } from './clock'
import { fromMs } from './clock'
import { recordLoad } from './resource_load'
import type { Trace } from './trace'
import type { SpanContext } from './trace_context'
import { contextOfTiming } from './trace_context'

export const navigationEntry = (): PerformanceNavigationTiming | undefined =>
  performance.getEntriesByType('navigation')[0] as PerformanceNavigationTiming | undefined

// The context of the server that served this page, if it sent one.
export function navigationContext(): SpanContext | undefined {
  const entry = navigationEntry()
  return entry && contextOfTiming(entry)
}

// Markers have the browser's names in snake case: response_start, dom_interactive, load_event_end.
const PHASES = [
  'redirectStart', 'domainLookupStart', 'connectStart', 'requestStart', 'responseStart', 'responseEnd', 'domInteractive',
  'domContentLoadedEventEnd', 'domComplete', 'loadEventEnd',
] as const

// Called once, after the load event or when the page is closed before it. Phases that did not happen are 0 and left out.
export function recordNavigation(trace: Trace, server: SpanContext | undefined, url: string): void {
  const entry = navigationEntry()
  if (!entry) return
  for (const phase of PHASES) {
    const at = entry[phase]
    if (at > 0) trace.point(phase.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`), fromMs(at))
  }
  if (entry.responseEnd > 0) recordLoad(trace, entry, url, server?.spanId)
  if (!server || server.traceId !== trace.id || !trace.room()) return
  const sent: Nanos = fromMs(entry.requestStart || entry.fetchStart)
  trace.record('rpc_cs', server.spanId, trace.root, sent, { name: url })
  trace.record('rpc_cr', server.spanId, trace.root, Math.max(sent, fromMs(entry.responseEnd || entry.responseStart)))
}
