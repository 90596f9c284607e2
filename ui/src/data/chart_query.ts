import type { DatasetSummary, UsedColumn } from '../api/datasets'
import { parseDuration } from '../parts/format'
import { instantMs } from '../search/time_range'
import { joinConditions, quoteKey } from './condition_language'
import { INSTANT, usualGroup, usualMetric } from './values'

// What a chart shows, as its page's URL holds it. A saved chart is exactly this text.

export const CHARTS = [
  ['series', 'Time series'],
  ['breakdown', 'Breakdown'],
  ['heat', 'Heat map'],
  ['distribution', 'Distribution'],
  ['pivot', 'Pivot'],
  ['rows', 'Rows'],
] as const
export type ChartKind = (typeof CHARTS)[number][0]

export const AGGREGATES = ['count', 'sum', 'mean', 'min', 'p50', 'p90', 'p95', 'p99', 'max', 'distinct'] as const

export interface ChartQuery {
  kind: ChartKind
  where: string
  groupBy: string[]
  // One aggregate: `count`, or a function and its column.
  agg: string
  bucket: string
  metric: string
  since: string
  until: string | null
  linear: boolean
}

// Without a choice, charts cover all time.
export const STANDARD_RANGE = 'all'

export function queryFromParams(params: URLSearchParams): ChartQuery {
  const kind = params.get('chart')
  return {
    kind: CHARTS.find(([k]) => k === kind)?.[0] ?? 'series',
    where: params.get('where') ?? '',
    groupBy: (params.get('group_by') ?? '').split(',').map((s) => s.trim()).filter(Boolean),
    agg: params.get('agg') ?? '',
    bucket: params.get('bucket') ?? '',
    metric: params.get('metric') ?? '',
    since: params.get('since') ?? STANDARD_RANGE,
    until: params.get('until'),
    linear: params.get('axis') === 'linear',
  }
}

// The parameters of the query, without selections and marks.
export function queryToParams(q: ChartQuery): URLSearchParams {
  const params = new URLSearchParams()
  const set = (key: string, value: string | null, standard = '') => value && value !== standard && params.set(key, value)
  set('chart', q.kind, 'series')
  set('where', q.where)
  set('group_by', q.groupBy.join(','))
  set('agg', q.agg)
  set('bucket', q.bucket)
  set('metric', q.metric)
  set('since', q.since, STANDARD_RANGE)
  set('until', q.until)
  set('axis', q.linear ? 'linear' : '')
  return params
}

// Fills in what the query leaves open, from the dataset.
export function completeQuery(q: ChartQuery, columns: UsedColumn[], dataset: DatasetSummary | null, nowMs: number): ChartQuery {
  const metric = q.metric || usualMetric(columns)
  const group = usualGroup(columns)
  let groupBy = q.groupBy
  if (groupBy.length === 0 && q.kind === 'breakdown' && group) groupBy = [group]
  if (q.kind === 'pivot' && groupBy.length < 2) {
    const more = columns.filter((c) => (c.type === 'text' || c.type === 'bool') && !['trace_id', 'row_key', ...groupBy].includes(c.name)).map((c) => c.name)
    groupBy = [...groupBy, ...(group && !groupBy.includes(group) ? [group] : []), ...more.filter((n) => n !== group)].slice(0, 2)
  }
  return {
    ...q,
    metric,
    groupBy,
    agg: q.agg || (metric && q.kind !== 'pivot' ? `p95(${quoteKey(metric)})` : 'count'),
    bucket: q.bucket || usualBucket(q, dataset, nowMs),
  }
}

const BUCKETS = ['1s', '2s', '5s', '10s', '30s', '1m', '2m', '5m', '10m', '30m', '1h', '2h', '6h', '12h', '24h', '168h']

// The smallest bucket that gives at most 60 points.
function usualBucket(q: ChartQuery, dataset: DatasetSummary | null, nowMs: number): string {
  const [from, to] = extentMs(q, dataset, nowMs)
  return BUCKETS.find((b) => (parseDuration(b)! / 1e6) * 60 >= to - from) ?? '720h'
}

export function extentMs(q: { since: string; until: string | null }, dataset: DatasetSummary | null, nowMs: number): [number, number] {
  const ms = (v: bigint | null) => (v === null ? null : Number(v / 1_000_000n))
  const from = (q.since === 'all' ? ms(dataset?.oldestNs ?? null) : instantMs(q.since, nowMs)) ?? nowMs - 3600e3
  const to = (q.until ? instantMs(q.until, nowMs) : null) ?? (q.since === 'all' ? ms(dataset?.newestNs ?? null) : nowMs) ?? nowMs
  return [from, Math.max(to, from + 1)]
}

// Heat maps and distributions draw at most this many rows, the newest, and say so.
export const DRAWN_ROWS = 50_000
const GROUPS = 5_000

// The API parameters for the chart.
export function chartParams(q: ChartQuery): URLSearchParams {
  const params = rangeParams(q)
  if (q.where) params.set('where', q.where)
  if (q.kind === 'heat' || q.kind === 'distribution') {
    params.set('columns', [INSTANT, quoteKey(q.metric)].join(','))
    params.set('where', joinConditions(q.where, `${quoteKey(q.metric)} exists`))
    params.set('limit', String(DRAWN_ROWS))
    return params
  }
  if (q.kind === 'rows') {
    params.set('limit', '1000')
    return params
  }
  const groups = q.kind === 'series' ? q.groupBy.slice(0, 1) : q.kind === 'pivot' ? q.groupBy.slice(0, 2) : q.groupBy
  if (groups.length > 0) params.set('group_by', groups.map(quoteKey).join(','))
  params.set('agg', q.agg === 'count' ? 'count' : `${q.agg},count`)
  if (q.kind === 'series') params.set('bucket', q.bucket)
  params.set('limit', String(GROUPS))
  return params
}

export const PERCENTILES = ['min', 'p50', 'p90', 'p95', 'p99', 'max', 'mean'] as const

// The API parameters for percentiles, which cover all rows, not only those drawn.
export function percentileParams(q: ChartQuery): URLSearchParams {
  const params = rangeParams(q)
  if (q.where) params.set('where', q.where)
  params.set('agg', [...PERCENTILES.map((p) => `${p}(${quoteKey(q.metric)})`), 'count'].join(','))
  return params
}

// The API parameters for the rows behind a mark, largest value first.
export function behindParams(q: ChartQuery, mark: string, columns: UsedColumn[]): URLSearchParams {
  const params = rangeParams(q)
  const where = joinConditions(q.where, mark)
  if (where) params.set('where', where)
  const shown = ['trace_id', INSTANT, ...(q.metric ? [q.metric] : []), ...q.groupBy]
  for (const c of columns) if (shown.length < 9 && !shown.includes(c.name) && c.type !== 'stack' && c.name !== 'row_key') shown.push(c.name)
  params.set('columns', [...new Set(shown)].map(quoteKey).join(','))
  if (q.metric) params.set('order', `${quoteKey(q.metric)} desc`)
  params.set('limit', '200')
  return params
}

function rangeParams(q: { since: string; until: string | null }): URLSearchParams {
  const params = new URLSearchParams()
  if (q.since !== 'all') params.set('since', q.since)
  if (q.until) params.set('until', q.until)
  return params
}

const shell = (text: string): string => (/^[\w.:,=/@%+-]+$/.test(text) ? text : `'${text.replace(/'/g, `'\\''`)}'`)

// The command that gives the same result in a terminal.
export function commandFor(verb: string, name: string, params: URLSearchParams): string {
  const flags = [...params].map(([key, value]) => `--${key.replace(/_/g, '-')} ${shell(value)}`)
  return [`wherefore dataset ${verb} ${shell(name)}`, ...flags].join(' ')
}

export const datasetUrl = (name: string, params: URLSearchParams): string => {
  const text = params.toString()
  return `/datasets/${encodeURIComponent(name)}${text ? `?${text}` : ''}`
}
