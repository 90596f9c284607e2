import { ns, parseExact, parseExactAround, type ExactInt } from './exact_json'
import { requestSignIn, sessionHeaders } from './session'
import type { CriticalPathAnswer, CriticalPathsAnswer, ExplainAnswer, ImportAnswer, SpanAnswer, StacksAnswer, StatusAnswer, TracesPage, WaterfallAnswer } from './types'

// A failure as views show it: what failed, what to try, and the request.
export class ApiError extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly hint: string,
    readonly request: string,
    readonly status: number,
  ) {
    super(message)
  }
}

function errorFrom(text: string, status: number, request: string): ApiError {
  if (status === 401) requestSignIn()
  try {
    const { error } = JSON.parse(text) as { error: { code: string; message: string; hint?: string } }
    return new ApiError(error.code, error.message, error.hint ?? '', request, status)
  } catch {
    return new ApiError('environment', `The server returned HTTP ${status}.`, 'See the server’s log.', request, status)
  }
}

const unreachable = (request: string) =>
  new ApiError(
    'environment',
    'The server cannot be reached.',
    'Is `wherefore serve` running? This page works again as soon as it is.',
    request,
    0,
  )

type Parse = (text: string) => unknown

export const get = <T>(path: string, signal?: AbortSignal, parse: Parse = parseExact): Promise<T> => send<T>('GET', path, undefined, signal, parse)

export async function send<T>(method: string, path: string, body?: string, signal?: AbortSignal, parse: Parse = parseExact, contentType = 'application/json', more: Record<string, string> = {}): Promise<T> {
  const request = `${method} ${path}`
  let answer: Response
  let text: string
  try {
    const type: Record<string, string> = body === undefined ? {} : { 'content-type': contentType }
    answer = await fetch(path, { method, body, signal, headers: { accept: 'application/json', ...sessionHeaders(), ...type, ...more } })
    text = await answer.text()
  } catch (cause) {
    if (signal?.aborted) throw cause
    throw unreachable(request)
  }
  if (!answer.ok) throw errorFrom(text, answer.status, request)
  try {
    return parse(text) as T
  } catch {
    throw new ApiError('environment', 'The response is not JSON.', 'Is this a wherefore server?', request, answer.status)
  }
}

export async function searchTraces(query: URLSearchParams, signal?: AbortSignal): Promise<TracesPage> {
  const page = await get<{ traces: Record<string, unknown>[]; next: string | null }>(`/api/v1/traces?${query}`, signal)
  return {
    next: page.next,
    traces: page.traces.map((t) => ({
      ...(t as unknown as TracesPage['traces'][number]),
      start_ns: ns(t.start_ns as ExactInt),
      duration_ns: Number(ns(t.duration_ns as ExactInt)),
    })),
  }
}

const tracePath = (id: string) => `/api/v1/trace/${encodeURIComponent(id)}`

export const getWaterfall = (id: string, signal?: AbortSignal) =>
  get<WaterfallAnswer>(`${tracePath(id)}?view=waterfall`, signal, (text) => parseExactAround(text, 'strings', 'repairs'))

export const getSpan = (id: string, span: string, signal?: AbortSignal) =>
  get<SpanAnswer>(`${tracePath(id)}?span=${encodeURIComponent(span)}`, signal)

export const traceJsonUrl = (id: string, clock: 'aligned' | 'raw') =>
  clock === 'raw' ? `${tracePath(id)}?clock=raw` : tracePath(id)

export const getStacks = (id: string, clock: 'aligned' | 'raw', signal?: AbortSignal) =>
  get<StacksAnswer>(`${tracePath(id)}?view=stacks${clock === 'raw' ? '&clock=raw' : ''}`, signal, (text) => parseExactAround(text, 'strings', 'samples'))

export const getCriticalPath = (id: string, query: URLSearchParams, signal?: AbortSignal) =>
  get<CriticalPathAnswer>(`/api/v1/critical-path/${encodeURIComponent(id)}${query.size ? `?${query}` : ''}`, signal)

export const getCriticalPaths = (query: URLSearchParams, signal?: AbortSignal) =>
  get<CriticalPathsAnswer>(`/api/v1/critical-path?${query}`, signal)

export const explainPath = (id: string, query: URLSearchParams) => `/api/v1/explain${id ? `/${encodeURIComponent(id)}` : ''}${query.size ? `?${query}` : ''}`

// Explains one request, or without an id the slowest ones that the query describes.
export const getExplanation = (id: string, query: URLSearchParams, signal?: AbortSignal) => get<ExplainAnswer>(explainPath(id, query), signal)

export const getStatus = (signal?: AbortSignal) => get<StatusAnswer>('/api/v1/status', signal)

export const getServices = async (signal?: AbortSignal) =>
  (await get<{ services: string[] }>('/api/v1/services', signal)).services

export const getOperations = async (service: string, signal?: AbortSignal) =>
  (
    await get<{ operations: { name: string; kind: string }[] }>(`/api/v1/operations?service=${encodeURIComponent(service)}`, signal)
  ).operations

export const getAttributeKeys = async (prefix: string, signal?: AbortSignal) =>
  (await get<{ keys: string[] }>(`/api/v1/attributes?prefix=${encodeURIComponent(prefix)}`, signal)).keys

export const getAttributeValues = async (key: string, prefix: string, signal?: AbortSignal) =>
  (
    await get<{ values: unknown[] }>(
      `/api/v1/attributes/${encodeURIComponent(key)}?prefix=${encodeURIComponent(prefix)}`,
      signal,
    )
  ).values.map((value) => (typeof value === 'string' ? value.replace(/^\u0000/, '') : String(value)))

// XMLHttpRequest because fetch does not report upload progress.
export function importFile(
  file: File,
  onProgress: (sent: number) => void,
  signal: AbortSignal,
): Promise<ImportAnswer> {
  const request = `POST /api/v1/import?name=${encodeURIComponent(file.name)}`
  return new Promise((resolve, reject) => {
    const xhr = new XMLHttpRequest()
    xhr.open('POST', request.slice(5))
    xhr.setRequestHeader('content-type', 'application/octet-stream')
    for (const [name, value] of Object.entries(sessionHeaders())) xhr.setRequestHeader(name, value)
    xhr.upload.onprogress = (event) => onProgress(event.loaded)
    xhr.onload = () => {
      if (xhr.status >= 200 && xhr.status < 300) resolve(parseExact(xhr.responseText) as ImportAnswer)
      else reject(errorFrom(xhr.responseText, xhr.status, request))
    }
    xhr.onerror = () => reject(unreachable(request))
    xhr.onabort = () => reject(new DOMException('cancelled', 'AbortError'))
    signal.addEventListener('abort', () => xhr.abort())
    xhr.send(file)
  })
}
