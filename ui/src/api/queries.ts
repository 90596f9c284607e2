import { followEvents } from './event_stream'
import { ApiError, get, send } from './client'
import { isLongInteger, ns, parseExact, type ExactInt } from './exact_json'

// Queries joined by happened-before. Those on the running system are started, followed and removed; those on stored
// traces are answered at once.

export type Value = string | number | bigint | boolean | null | Value[]

export interface QueryCost {
  hits: number
  tuples: number
  bytes: number
  advice_ns: number
  packed_tuples_max: number
  baggage_bytes_max: number
  lost: number
  overflowed: number
  reports: number
}

export interface LiveQuery {
  id: string
  query: string
  name: string
  standing: boolean
  interval_ms: number
  dataset?: string
  sinceNs: bigint
  state: 'running' | 'ending'
  plan?: 'rewritten' | 'emit'  // the plan for requests that start now
  columns: string[]
  tracepoints: string[]
  processes: { told: number; known: number }
  listeners: number
  notes: string[]
  cost: QueryCost
}

export interface Tracepoint {
  name: string
  exports: string[]
  // In how many connected processes it is, or that it is defined on the server.
  note: string
}

export interface RowsAnswer {
  columns: string[]
  rows: Value[][]
}

export interface StoredAnswer extends RowsAnswer {
  events: number
  modeled: number | null
}

export interface Interval extends RowsAnswer {
  startNs: bigint
  endNs: bigint
  lost: number
}

export interface ExplainedPlan {
  advice: { name: string; alias: string; at: string[]; steps: string[] }[]
  baggage: { tuples: number; bytes: number; bounded: boolean }
}

export interface Explained {
  before: ExplainedPlan
  after: ExplainedPlan
  notes: string[]
}

const TOKEN = 'wherefore.token'

// Requests that only the administrator may make carry the token from the store's server.json. It is kept until the tab
// is closed.
export const adminToken = (): string => sessionStorage.getItem(TOKEN) ?? ''
export function storeAdminToken(token: string): void {
  if (token) sessionStorage.setItem(TOKEN, token)
  else sessionStorage.removeItem(TOKEN)
}

const authorized = (): Record<string, string> => (adminToken() ? { authorization: `Bearer ${adminToken()}` } : {})

// Turns the long integers that parseExact kept as text into BigInts.
function restoreBigInts(value: unknown): Value {
  if (Array.isArray(value)) return value.map(restoreBigInts)
  return isLongInteger(value) ? BigInt(value.slice(1)) : (value as Value)
}

const rowsOf = (rows: unknown[][]): Value[][] => rows.map((row) => row.map(restoreBigInts))

const decodeCost = (cost: Record<string, ExactInt>): QueryCost => Object.fromEntries(Object.entries(cost).map(([k, v]) => [k, Number(ns(v))])) as unknown as QueryCost

function decodeQuery(answer: Record<string, unknown>): LiveQuery {
  return { ...(answer as unknown as LiveQuery), sinceNs: ns(answer.since_ns as ExactInt), cost: decodeCost(answer.cost as Record<string, ExactInt>) }
}

export const listQueries = async (signal?: AbortSignal): Promise<LiveQuery[]> =>
  (await get<{ queries: Record<string, unknown>[] }>('/api/v1/queries', signal)).queries.map(decodeQuery)

export const getQuery = async (id: string, signal?: AbortSignal): Promise<LiveQuery> =>
  decodeQuery(await get<Record<string, unknown>>(`/api/v1/queries/${encodeURIComponent(id)}`, signal))

export interface QueryRequest {
  query: string
  interval_ms: number
  standing: boolean
  name?: string
  total?: boolean
}

export const startQuery = async (request: QueryRequest): Promise<LiveQuery> =>
  decodeQuery(await send<Record<string, unknown>>('POST', '/api/v1/queries', JSON.stringify(request), undefined, parseExact, 'application/json', authorized()))

export const removeQuery = (id: string): Promise<unknown> =>
  send('DELETE', `/api/v1/queries/${encodeURIComponent(id)}`, undefined, undefined, parseExact, 'application/json', authorized())

interface CheckAnswer {
  columns: string[]
  tracepoints: string[]
  diagnostics: { line: number; column: number; length: number; message: string; hint: string }[]
}

// Checks whether the running system accepts the query. Throws an ApiError that reads like the server's other
// diagnostics, with its position, if it does not.
export async function checkLive(query: string, signal?: AbortSignal): Promise<CheckAnswer> {
  const path = '/api/v1/queries/check'
  const checked = await send<CheckAnswer>('POST', path, JSON.stringify({ query }), signal)
  const fault = checked.diagnostics[0]
  if (!fault) return checked
  const where = fault.line > 0 ? `query:${fault.line}:${fault.column}: ` : ''
  const mark = where ? `\n  | ^${'~'.repeat(Math.max(0, fault.length - 1))}\n  | ${fault.hint}` : ''
  throw new ApiError('bad_input', `${where}${fault.message}${mark}`, fault.hint, path, 200)
}

export const explainQuery = (query: string, signal?: AbortSignal): Promise<Explained> =>
  send('POST', '/api/v1/query?explain=true', query, signal, parseExact, 'text/plain')

export async function queryStored(query: string, range: URLSearchParams, signal?: AbortSignal): Promise<StoredAnswer> {
  const answer = await send<{ columns: string[]; rows: unknown[][]; input: { events: ExactInt; traces_modeled?: ExactInt } }>(
    'POST', `/api/v1/query${range.size ? `?${range}` : ''}`, query, signal, parseExact, 'text/plain')
  const modeled = answer.input.traces_modeled
  return { columns: answer.columns, rows: rowsOf(answer.rows), events: Number(ns(answer.input.events)), modeled: modeled === undefined ? null : Number(ns(modeled)) }
}

export async function listTracepoints(signal?: AbortSignal): Promise<Tracepoint[]> {
  const answer = await get<{
    tracepoints: { name: string; exports?: Record<string, string>; locations?: unknown[] }[]
    compiled_in: { name: string; exports: string[]; processes: number }[]
  }>('/api/v1/tracepoints', signal)
  const all = new Map<string, Tracepoint>()
  for (const t of answer.compiled_in) all.set(t.name, { name: t.name, exports: t.exports, note: `in ${t.processes} ${t.processes === 1 ? 'process' : 'processes'}` })
  for (const t of answer.tracepoints) {
    const also = all.get(t.name)
    all.set(t.name, { name: t.name, exports: [...new Set([...(also?.exports ?? []), ...Object.keys(t.exports ?? {})])], note: 'defined' })
  }
  return [...all.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
}

export interface StreamEvents {
  onInterval: (interval: Interval) => void
  onNote: (text: string) => void
  onTotal: (rows: RowsAnswer) => void
  onEnd: (reason: string, cost: QueryCost | null) => void
  // The connection broke. `final`: there will be no retry.
  onLost: (final: boolean) => void
}

// Follows a query, beginning with the intervals the server still has. After a lost connection it continues behind the
// last interval it got.
export function followQuery(id: string, events: StreamEvents): () => void {
  const handlers: Record<string, (data: Record<string, unknown>) => void> = {
    interval: (d) =>
      events.onInterval({ startNs: ns(d.start_ns as ExactInt), endNs: ns(d.end_ns as ExactInt), columns: d.columns as string[], rows: rowsOf(d.rows as unknown[][]), lost: Number(d.lost) }),
    note: (d) => events.onNote(String(d.text)),
    total: (d) => events.onTotal({ columns: d.columns as string[], rows: rowsOf(d.rows as unknown[][]) }),
    end: (d) => {
      stop()
      events.onEnd(String(d.reason ?? ''), d.cost ? decodeCost(d.cost as Record<string, ExactInt>) : null)
    },
  }
  const stop = followEvents(`/api/v1/queries/${encodeURIComponent(id)}/stream?after_ns=0`, Object.keys(handlers), {
    onEvent: (type, data) => handlers[type]!(parseExact(data) as Record<string, unknown>),
    onLost: events.onLost,
  })
  return stop
}

export const isDenied = (cause: ApiError): boolean => cause.code === 'denied'
