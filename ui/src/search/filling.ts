// Commands that fill this server, made from the addresses that it listens on.

export interface Listener {
  name: string
  address: string
}

// Where a client reaches the listener. One that listens on every address is reached by the name that brought us here.
export function reachable(listeners: Listener[], name: string, page: { protocol: string; hostname: string }): string | null {
  const address = listeners.find((l) => l.name === name)?.address
  const colon = address?.lastIndexOf(':') ?? -1
  if (!address || colon < 0) return null // off
  const host = address.slice(0, colon)
  return `${page.protocol}//${['0.0.0.0', '[::]', '::', ''].includes(host) ? page.hostname : host}${address.slice(colon)}`
}

export function exporterVariables(listeners: Listener[], page: { protocol: string; hostname: string }): string | null {
  const http = reachable(listeners, 'otlp_http', page)
  if (http) return `export OTEL_EXPORTER_OTLP_ENDPOINT=${http} OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf`
  const grpc = reachable(listeners, 'otlp_grpc', page)
  return grpc && `export OTEL_EXPORTER_OTLP_ENDPOINT=${grpc} OTEL_EXPORTER_OTLP_PROTOCOL=grpc`
}

// One request of 250 ms that ends at `nowMs`, so that the last hour shows it.
export function sendOneByCurl(listeners: Listener[], page: { protocol: string; hostname: string }, nowMs: number, traceId: string): string | null {
  const http = reachable(listeners, 'otlp_http', page)
  if (!http) return null
  const span = `{"traceId":"${traceId}","spanId":"00000000000000a1","name":"GET /hello","kind":2,"startTimeUnixNano":"${nowMs - 250}000000","endTimeUnixNano":"${nowMs}000000"}`
  const body = `{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"hello"}}]},"scopeSpans":[{"spans":[${span}]}]}]}`
  return `curl ${http}/v1/traces -H 'Content-Type: application/json' -d '${body}'`
}

export function newTraceId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

export const importScenario = (origin: string): string =>
  `wherefore scenario page-load --out page-load && wherefore import page-load/events.jsonl --store ${origin}`
