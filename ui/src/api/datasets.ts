import { ApiError, get, send } from './client'
import { isLongInteger, ns, type ExactInt } from './exact_json'

// Datasets: tables of features extracted from traces, and the queries on them.

export type ColumnType = 'bool' | 'int' | 'double' | 'text' | 'stack'
export type Cell = string | number | bigint | boolean | null

export interface Column {
  name: string
  type: ColumnType
}

export interface UsedColumn extends Column {
  queries: number
}

export interface Rows {
  columns: Column[]
  rows: Cell[][]
  // The limit cut off rows.
  more: boolean
  // Old rows were sampled, so values are estimates; NAME_low and NAME_high are 95 % bounds.
  estimated: boolean
  dialect: string
}

export interface DatasetSummary {
  name: string
  owner: string
  standing: boolean
  definition: string
  rows: number
  bytes: number
  oldestNs: bigint | null
  newestNs: bigint | null
  sampledBeforeNs: bigint | null
  costNs: number | null
  fault: string
}

export interface Difference {
  column: string
  value: string | null
  effect: number
  p: number
  q: number
  question: 'shift' | 'mix' | 'within'
  a: number
  b: number
}

export interface Comparison {
  nA: number
  nB: number
  columns: Difference[]
  metric: Difference | null
}

const DATASET = '/api/v1/dataset'

interface RawRows {
  columns: Column[]
  rows: Record<string, unknown>[]
  more?: boolean
  estimated?: boolean
  dialect?: string
}

function cellOf(value: unknown): Cell {
  if (value === null || value === undefined) return null
  if (isLongInteger(value)) return BigInt(value.slice(1))
  return typeof value === 'object' ? JSON.stringify(value) : (value as Cell)
}

const rowsOf = (raw: RawRows): Rows => ({
  columns: raw.columns,
  rows: raw.rows.map((row) => raw.columns.map((c) => cellOf(row[c.name]))),
  more: raw.more ?? false,
  estimated: raw.estimated ?? false,
  dialect: raw.dialect ?? '',
})

const instantOrNull = (value: unknown, rows: number): bigint | null =>
  value === null || value === undefined || rows === 0 ? null : ns(value as ExactInt)

export async function listDatasets(signal?: AbortSignal): Promise<DatasetSummary[]> {
  const { datasets } = await get<{ datasets: Record<string, unknown>[] }>(`${DATASET}/list`, signal)
  return datasets.map((d) => {
    const rows = Number(ns(d.rows as ExactInt))
    return {
      name: String(d.dataset),
      owner: String(d.owner ?? ''),
      standing: d.standing === true,
      definition: String(d.definition ?? ''),
      rows,
      bytes: Number(ns(d.bytes as ExactInt)),
      oldestNs: instantOrNull(d.oldest_ns, rows),
      newestNs: instantOrNull(d.newest_ns, rows),
      sampledBeforeNs: instantOrNull(d.subsampled_before_ns, rows),
      costNs: typeof d.cost_ns_per_trace === 'number' ? d.cost_ns_per_trace : null,
      fault: String(d.fault ?? ''),
    }
  })
}

export const getColumns = async (name: string, signal?: AbortSignal): Promise<UsedColumn[]> =>
  (await get<{ columns: UsedColumn[] }>(`${DATASET}/columns/${encodeURIComponent(name)}`, signal)).columns

export const queryDataset = async (name: string, query: URLSearchParams, signal?: AbortSignal): Promise<Rows> =>
  rowsOf(await get<RawRows>(`${DATASET}/query/${encodeURIComponent(name)}?${query}`, signal))

export const queryUrl = (name: string, query: URLSearchParams, format: 'csv' | 'parquet'): string => {
  const with_format = new URLSearchParams(query)
  with_format.set('format', format)
  return `${DATASET}/query/${encodeURIComponent(name)}?${with_format}`
}

export async function compareDataset(name: string, query: URLSearchParams, signal?: AbortSignal): Promise<Comparison> {
  const raw = await get<{ n_a: number; n_b: number; columns: Difference[]; metric?: Difference }>(
    `${DATASET}/compare/${encodeURIComponent(name)}?${query}`,
    signal,
  )
  return { nA: raw.n_a, nB: raw.n_b, columns: raw.columns, metric: raw.metric ?? null }
}

export const runSql = async (sql: string, signal?: AbortSignal): Promise<Rows> =>
  rowsOf(await get<RawRows>(`${DATASET}/sql?${new URLSearchParams({ sql })}`, signal))

// The result of a definition on the newest 1,000 matching traces, and whether it was saved.
export interface ApplyAnswer {
  dataset: string
  owner: string
  saved: boolean
  columns: Column[]
  trial: { traces: number; matched: number; rows: number; rows_per_trace: number; cost_ns_per_trace: number; owner_cost_ns_per_trace: number; unusable: number; over_budget: number; rows_dropped: number }
}

export const applyDataset = (yaml: string, how: 'check' | 'save' | 'force', signal?: AbortSignal) =>
  send<ApplyAnswer>('POST', `${DATASET}/apply?${how === 'check' ? 'trial=true' : how === 'force' ? 'force=true' : ''}`, yaml, signal, undefined, 'application/yaml')

export interface BackfillAnswer {
  traces: number
  matched: number
  rows: number
  unusable: number
  over_budget: number
  rows_dropped: number
}

export const backfillDataset = (name: string, since: bigint, until: bigint, signal?: AbortSignal) =>
  send<BackfillAnswer>('POST', `${DATASET}/backfill/${encodeURIComponent(name)}?since=${since}&until=${until}`, '', signal)

// Dashboards: saved charts, each a dataset and the query part of its page's URL.
export interface SavedChart {
  title: string
  dataset: string
  query: string
  wide: boolean
}

export interface Dashboard {
  name: string
  title: string
  charts: SavedChart[]
  revision: string // of the version that was read; '' for a new dashboard
}

export interface DashboardSummary {
  name: string
  title: string
  charts: number
  changedNs: bigint
}

export async function listDashboards(signal?: AbortSignal): Promise<DashboardSummary[]> {
  const { dashboards } = await get<{ dashboards: { name: string; title: string; charts: number; changed_ns: ExactInt }[] }>('/api/v1/dashboards', signal)
  return dashboards.map((d) => ({ name: d.name, title: d.title, charts: d.charts, changedNs: ns(d.changed_ns) }))
}

const dashboardPath = (name: string) => `/api/v1/dashboards/${encodeURIComponent(name)}`

export const getDashboard = (name: string, signal?: AbortSignal) => get<Dashboard>(dashboardPath(name), signal)

// The server refuses a save over a newer version (isConflict), unless `over` says to replace whatever there is.
export const putDashboard = ({ name, title, charts, revision }: Dashboard, over: 'what-was-read' | 'whatever-there-is' = 'what-was-read') =>
  send<Dashboard>('PUT', dashboardPath(name), JSON.stringify(over === 'what-was-read' ? { title, charts, revision } : { title, charts }))

export const isConflict = (cause: unknown): boolean => cause instanceof ApiError && cause.status === 409

export const deleteDashboard = (name: string) => send<unknown>('DELETE', dashboardPath(name))
