// A performance entry of a load → an edge of type `resource` (Canopy figure 8): from the moment it was asked for to
// the moment its last byte was there, with what it was as label `resource` and its size as counter `bytes`.
import { fromMs } from './clock'
import { resourceKind } from './resource_kind'
import type { Trace } from './trace'
import { newId } from './trace_context'

// Code, styles and data are waited for; a picture or a font appears when it appears. The browser knows better when it
// says that it blocked rendering. A request whose span stands in the trace is waited for through that span.
const WAITED_FOR = /^(css|js|fetch|document)$/

export function shownUrl(url: string): string {
  try {
    const { origin, pathname } = new URL(url, document.baseURI)
    // The query may hold what is nobody's business, and splits groups; the page's own origin says nothing.
    return origin === location.origin ? pathname : origin + pathname
  } catch {
    return ''
  }
}

// `request`: the block of the request, where the client propagated it.
export function recordLoad(trace: Trace, entry: PerformanceResourceTiming, url: string, request?: string): void {
  if (!trace.room()) return
  const { startTime, responseStart, responseEnd, requestStart, transferSize, encodedBodySize, decodedBodySize } = entry
  const { renderBlockingStatus, responseStatus } = entry as { renderBlockingStatus?: string; responseStatus?: number }
  const resource = resourceKind(entry.name, entry.initiatorType)
  // Another origin that does not allow timing (Timing-Allow-Origin) shows zeros. Not known is not nothing.
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
