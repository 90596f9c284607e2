// Turns a performance entry of a load into an edge of type `resource` (Canopy figure 8), from its start to its last byte,
// with its kind as label `resource` and its size as counter `bytes`.
import { fromMs } from './clock'
import { resourceKind } from './resource_kind'
import type { Trace } from './trace'
import { newId } from './trace_context'

// Kinds of resources that the page waits for; it does not wait for pictures and fonts. If the browser reports that a load
// blocked rendering, that counts. A request with a span in the trace is waited for through its span.
const WAITED_FOR = /^(css|js|fetch|document)$/

export function shownUrl(url: string): string {
  try {
    const { origin, pathname } = new URL(url, document.baseURI)
    // The query may be private and would split groups.
    return origin === location.origin ? pathname : origin + pathname
  } catch {
    return ''
  }
}

// `request`: the block of the request, if the client propagated it.
export function recordLoad(trace: Trace, entry: PerformanceResourceTiming, url: string, request?: string): void {
  if (!trace.room()) return
  const { startTime, responseStart, responseEnd, requestStart, transferSize, encodedBodySize, decodedBodySize } = entry
  const { renderBlockingStatus, responseStatus } = entry as { renderBlockingStatus?: string; responseStatus?: number }
  const resource = resourceKind(entry.name, entry.initiatorType)
  // An origin without Timing-Allow-Origin shows zeros, which mean unknown.
  const known = transferSize || encodedBodySize || responseStart
  const edge = newId()
  const from = fromMs(startTime)
  trace.record('edge_begin', edge, trace.root, from, {
    type: 'resource',
    resource,
    url,
    request,
    blocking: `${renderBlockingStatus === 'blocking' || (!request && WAITED_FOR.test(resource))}`,
    protocol: entry.nextHopProtocol,
    status: responseStatus ? `${responseStatus}` : '',
    cache: known && !transferSize && decodedBodySize ? 'hit' : '',
    'bytes:B': known ? encodedBodySize || transferSize : undefined,
    'transfer_bytes:B': known ? transferSize : undefined,
    'ttfb:ns': responseStart && requestStart ? fromMs(responseStart - requestStart) : undefined,
  })
  trace.record('edge_end', edge, trace.root, Math.max(from, fromMs(responseEnd)))
}
