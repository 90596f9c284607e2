import { useEffect, useMemo, useRef, useState } from 'react'
import { queryDataset, queryUrl, type Cell, type Rows } from '../api/datasets'
import { useAnswer } from '../api/use_answer'
import { breakdownChart } from '../charts/breakdown_chart'
import { ChartCanvas, type ChartHandle } from '../charts/ChartCanvas'
import { distributionChart } from '../charts/distribution_chart'
import { heatChart } from '../charts/heat_chart'
import type { ChartModel, Mark } from '../charts/layout'
import { pivotChart } from '../charts/pivot_chart'
import { seriesChart } from '../charts/series_chart'
import { saveCsv, savePng } from '../parts/canvas'
import { parseDuration } from '../parts/format'
import { Icon } from '../parts/Icon'
import { CopyButton, EmptyState, ErrorState, Skeleton, WithCode } from '../parts/states'
import { chartParams, CHARTS, commandFor, percentileParams, type ChartQuery } from './chart_query'
import { cellCondition, joinConditions } from './condition_language'
import { DataTable } from './DataTable'
import { INSTANT } from './values'

interface Props {
  dataset: string
  // With everything filled in (completeQuery).
  query: ChartQuery
  title?: string
  // Increase to load again.
  reloads?: number
  tile?: boolean
  chosen?: string | null
  selection?: string | null
  tools?: React.ReactNode
  // The answer in a sentence, for the page's heading.
  onSentence?: (text: string | null) => void
  onPick?: (mark: Mark) => void
  onSelect?: (text: string | null) => void
  // Shown instead of the table while a mark is selected.
  below?: React.ReactNode
}

interface Answered {
  rows: Rows
  percentiles: Rows | null
}

function modelOf(answer: Answered, query: ChartQuery): ChartModel | null {
  switch (query.kind) {
    case 'series': return seriesChart(answer.rows, query)
    case 'breakdown': return breakdownChart(answer.rows, query)
    case 'heat': return heatChart(answer.rows, query)
    case 'distribution': return answer.percentiles && distributionChart(answer.rows, answer.percentiles, query)
    case 'pivot': return pivotChart(answer.rows, query)
    case 'rows': return null
  }
}

// The condition that selects the rows behind a row of a grouped answer.
function conditionOf(rows: Rows, query: ChartQuery): ((row: Cell[]) => string) | undefined {
  const keys = query.kind === 'series' ? 1 + Math.min(1, query.groupBy.length) : query.kind === 'breakdown' ? query.groupBy.length : query.kind === 'pivot' ? 2 : 0
  if (keys === 0) return undefined
  return (row) =>
    joinConditions(
      ...rows.columns.slice(0, keys).map((c, i) => {
        if (c.name !== INSTANT || query.kind !== 'series') return cellCondition(c, row[i] ?? null)
        const from = BigInt(row[i] as bigint)
        return `${INSTANT} >= ${from} and ${INSTANT} < ${from + BigInt(parseDuration(query.bucket) ?? 1)}`
      }).reverse(),
    )
}

export const kindName = (query: ChartQuery): string => CHARTS.find(([k]) => k === query.kind)![1]

// One chart with its sentence, table and query; loads its own data.
export function ChartPanel({ dataset, query, title, reloads = 0, tile = false, chosen, selection, tools, onSentence, onPick, onSelect, below }: Props) {
  const params = chartParams(query)
  const key = `${dataset}?${params} ${query.kind} ${query.metric} ${query.kind === 'distribution'}`
  const [retry, setRetry] = useState(0)
  const { data, error, loading } = useAnswer<Answered>(key, reloads + retry, async (signal) => {
    const [rows, percentiles] = await Promise.all([
      queryDataset(dataset, params, signal),
      query.kind === 'distribution' ? queryDataset(dataset, percentileParams(query), signal) : null,
    ])
    return { rows, percentiles }
  })
  const chart = useRef<ChartHandle>(null)
  const [table, setTable] = useState(false)
  const model = useMemo(() => data && modelOf(data, query), [data, query.linear, query.agg, query.bucket])
  const sentence = model?.sentence ?? null
  useEffect(() => onSentence?.(sentence), [sentence])
  const name = title ?? kindName(query)
  const file = `${dataset}-${query.kind}`
  const command = commandFor('query', dataset, params)
  const shown = data?.rows
  const empty = shown && shown.rows.length === 0
  const behind = shown && conditionOf(shown, query)
  const showTable = !tile || table || query.kind === 'rows'
  const saveTable = () => shown && saveCsv([shown.columns.map((c) => c.name), ...shown.rows.map((row) => row.map((cell) => (cell === null ? '' : typeof cell === 'boolean' ? String(cell) : cell)))], `${file}.csv`)
  return (
    <section className={`panel-chart ${tile ? 'tile' : ''}`} aria-label={name} aria-busy={loading}>
      <header className="chart-head">
        <div className="chart-say">
          <h2>{name}</h2>
          {tile && model && <p className="muted">{model.sentence}</p>}
        </div>
        {tools}
        {model && !empty && <button type="button" className="icon-button" aria-label={`Save ${name} as PNG`} title="Save as PNG" onClick={() => chart.current?.canvas && savePng(chart.current.canvas, `${name}: ${model.sentence}`, `${file}.png`)}><Icon name="image" /></button>}
        {shown && !empty && <button type="button" className="icon-button" aria-label={`Save ${name} as CSV`} title="Save the table as CSV" onClick={saveTable}><Icon name="download" /></button>}
        {tile && model && <button type="button" className="icon-button" aria-pressed={table} aria-label={`Table behind ${name}`} title="Show the table" onClick={() => setTable(!table)}><Icon name="table" /></button>}
        {tile && <CopyButton text={command} label="Copy the command" />}
      </header>
      {error?.code === 'not_found' && !data && <EmptyState title={error.message}><p><WithCode text={error.hint} /></p></EmptyState>}
      {error && error.code !== 'not_found' && !data && <ErrorState error={error} onRetry={() => setRetry((n) => n + 1)} />}
      {loading && !data && <Skeleton rows={tile ? 5 : 9} label={`Loading ${name}`} />}
      {empty && <NoRows query={query} dataset={dataset} tile={tile} />}
      {data && !empty && model && !(tile && table) && (
        <ChartCanvas ref={chart} model={model} label={name} chosen={chosen} selection={selection} onPick={onPick} onSelect={onSelect} />
      )}
      {model && model.notes.length > 0 && !empty && <p className="chart-notes muted">{model.notes.join(' ')}{shown?.estimated && ' Old rows were sampled: values are estimates, with 95 % bounds.'}</p>}
      {below}
      {shown && !empty && !below && showTable && (
        <DataTable rows={shown} label={`Table behind ${name}`} behind={behind} onBehind={behind && onPick ? (where) => onPick({ x0: 0, x1: 0, y0: 0, y1: 0, title: '', lines: [], where }) : undefined} fill={query.kind === 'rows'} />
      )}
      {!tile && (
        <footer className="chart-foot">
          <span className="command"><code>{command}</code><CopyButton text={command} label="Copy the command" /></span>
          <a className="button quiet" href={queryUrl(dataset, params, 'csv')} download={`${file}.csv`}>CSV</a>
          <a className="button quiet" href={queryUrl(dataset, params, 'parquet')} download={`${file}.parquet`}>Parquet</a>
        </footer>
      )}
    </section>
  )
}

function NoRows({ query, dataset, tile }: { query: ChartQuery; dataset: string; tile: boolean }) {
  const filtered = query.where !== '' || query.since !== 'all' || query.until !== null
  if (tile) return <p className="muted pad">No rows{filtered ? ' match this filter.' : ` in ${dataset} yet.`}</p>
  return (
    <EmptyState title={filtered ? 'No rows match this filter.' : `${dataset} has no rows yet.`}>
      <p>{filtered ? 'Widen the time range or remove a condition.' : 'New traces add rows. To add rows for stored traces:'}</p>
      {!filtered && <code>wherefore dataset backfill {dataset}</code>}
    </EmptyState>
  )
}
