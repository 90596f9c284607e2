// W3C Trace Context: traceparent out, traceresponse and Server-Timing in.

export interface SpanContext {
  traceId: string
  spanId: string
  sampled: boolean
}

// Random bytes as lower-case hex. An all-zero id would be invalid, but is too unlikely with 64 bits.
export const randomHex = (bytes: number): string =>
  [...crypto.getRandomValues(new Uint8Array(bytes))].map((b) => (b + 256).toString(16).slice(1)).join('')

export const newTraceId = (): string => randomHex(16)
export const newId = (): string => randomHex(8)

// The format of traceparent and traceresponse. Version ff and zero ids are invalid; version 00 ends after the flags, later
// ones may have more. The last bit of the flags means sampled.
const CONTEXT = /^(?!ff|00.{54})[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-[\da-f]([\da-f])(-.*)?$/

export function parseContext(text: string | null | undefined): SpanContext | undefined {
  const found = CONTEXT.exec(text?.trim() ?? '')
  return found ? { traceId: found[1]!, spanId: found[2]!, sampled: /[13579bdf]/.test(found[3]!) } : undefined
}

export const formatContext = (traceId: string, spanId: string, sampled: boolean): string =>
  `00-${traceId}-${spanId}-0${sampled ? 1 : 0}`

// A page cannot read the headers of its own navigation except Server-Timing, so servers repeat their context there: `Server-Timing: traceparent;desc="00-…-…-01"` (or `traceresponse`).
export function contextOfTiming(entry: { serverTiming?: readonly PerformanceServerTiming[] }): SpanContext | undefined {
  for (const { name, description } of entry.serverTiming ?? []) {
    if (name === 'traceparent' || name === 'traceresponse') {
      const context = parseContext(description)
      if (context) return context
    }
  }
  return undefined
}
