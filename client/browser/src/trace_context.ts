// W3C Trace Context: traceparent out, traceresponse and Server-Timing in.

export interface SpanContext {
  traceId: string
  spanId: string
  sampled: boolean
}

const ZERO = /^0+$/

// Lower-case hex of `bytes` random bytes, never all zero.
export function randomHex(bytes: number): string {
  const buffer = crypto.getRandomValues(new Uint8Array(bytes))
  if (!buffer.some(Boolean)) buffer[0] = 1
  return Array.from(buffer, (b) => b.toString(16).padStart(2, '0')).join('')
}

export const newTraceId = (): string => randomHex(16)
export const newId = (): string => randomHex(8)

// traceparent and traceresponse have one form. Version ff and zero ids are invalid; a later version may carry more.
export function parseContext(text: string | null | undefined): SpanContext | undefined {
  const found = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/.exec(text?.trim() ?? '')
  if (!found) return undefined
  const [, version, traceId, spanId, flags, more] = found
  if (version === 'ff' || (version === '00' && more) || ZERO.test(traceId!) || ZERO.test(spanId!)) return undefined
  return { traceId: traceId!, spanId: spanId!, sampled: (parseInt(flags!, 16) & 1) === 1 }
}

export const formatContext = (traceId: string, spanId: string, sampled: boolean): string =>
  `00-${traceId}-${spanId}-0${sampled ? 1 : 0}`

// A page cannot read the headers of its own navigation. Server-Timing is the one that reaches it, so servers repeat
// their context there: `Server-Timing: traceparent;desc="00-…-…-01"` (or `traceresponse`).
export function contextOfTiming(entry: { serverTiming?: readonly PerformanceServerTiming[] }): SpanContext | undefined {
  for (const { name, description } of entry.serverTiming ?? []) {
    if (name === 'traceparent' || name === 'traceresponse') {
      const context = parseContext(description)
      if (context) return context
    }
  }
  return undefined
}

// For servers that write pages rather than headers: <meta name="traceparent" content="00-…">.
export const contextOfDocument = (): SpanContext | undefined =>
  parseContext(document.querySelector('meta[name=traceparent]')?.getAttribute('content'))
