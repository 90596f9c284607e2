import { useEffect, useMemo, useRef, useState } from 'react'
import { listDatasets, queryDataset, type Rows } from '../api/datasets'
import { useAnswer } from '../api/use_answer'
import { ChartCanvas, type ChartHandle } from '../charts/ChartCanvas'
import { commandFor, datasetUrl, extentMs, STANDARD_RANGE } from '../data/chart_query'
import { readableCondition } from '../data/BehindMark'
import { DataTable } from '../data/DataTable'
import { saveCsv, savePng } from '../parts/canvas'
import { registerServices } from '../parts/colours'
import { Icon } from '../parts/Icon'
import { CopyButton, EmptyState, ErrorState, Skeleton, WithCode } from '../parts/states'
import { rangeFromParams, rangePhrase } from '../search/time_range'
import { TimeRangePicker } from '../search/TimeRangePicker'
import { followInPage, setParams, useRoute } from '../shell/router'
import { edgeCondition, mapChart } from './map_chart'
import { edgesOf, layOut } from './service_graph'

const CALLS = 'calls'

// Calls between services with rate, latency and errors: a query over the standing dataset `calls`.
export function MapView() {
  const { params } = useRoute()
  const [reloads, setReloads] = useState(0)
  const chart = useRef<ChartHandle>(null)
  const range = rangeFromParams(params, STANDARD_RANGE)
  const chosen = params.get('mark')
  const query = new URLSearchParams()
  if (range.since !== 'all') query.set('since', range.since)
  if (range.until) query.set('until', range.until)
  query.set('group_by', 'caller,service')
  query.set('agg', 'count,sum(error),p50(duration_ns),p95(duration_ns)')
  query.set('limit', '5000')
  const { data, error, loading } = useAnswer(`map ${query}`, reloads, async (signal) => {
    const [rows, all] = await Promise.all([queryDataset(CALLS, query, signal), listDatasets(signal)])
    registerServices(rows.rows.flatMap((row) => (typeof row[1] === 'string' ? [row[1]] : [])))
    const [from, to] = extentMs(range, all.find((d) => d.name === CALLS) ?? null, Date.now())
    return { rows, seconds: Math.max(1, (to - from) / 1000) }
  })
  useEffect(() => {
    document.title = 'Map · wherefore'
  }, [])
  const edges = useMemo(() => (data ? edgesOf(data.rows) : []), [data])
  const model = useMemo(() => (data ? mapChart(layOut(edges), data.seconds) : null), [edges])
  const empty = data && edges.length === 0
  const noRows = error?.code === 'not_found'
  const seriesUrl = (where: string) => {
    const p = new URLSearchParams({ where, metric: 'duration_ns' })
    if (range.since !== 'all') p.set('since', range.since)
    if (range.until) p.set('until', range.until)
    return p
  }
  const rowsUrl = (where: string) => {
    const p = seriesUrl('')
    p.delete('where')
    p.set('mark', where)
    return datasetUrl(CALLS, p)
  }
  const table: Rows | null = data && { ...data.rows, rows: [...data.rows.rows].sort((x, y) => Number(y[2] ?? 0) - Number(x[2] ?? 0)) }
  return (
    <div className="page map">
      <header className="dataset-head">
        <div className="answer">
          <h1>{model && !empty ? model.sentence : noRows || empty ? `No calls ${rangePhrase(range)}` : error ? 'Could not load the map' : 'Service map'}</h1>
          {model && !empty && <p>Calls {rangePhrase(range)}; rate, p95 and errors on each arrow.</p>}
        </div>
        <TimeRangePicker key={`${range.since} ${range.until}`} range={range} standard={STANDARD_RANGE} />
      </header>
      {error && !noRows && !data && <ErrorState error={error} onRetry={() => setReloads((n) => n + 1)} />}
      {loading && !data && !error && <Skeleton rows={10} label="Loading the map" />}
      {(noRows || empty) && (
        <EmptyState title="No calls to draw.">
          <p>{noRows && error ? <WithCode text={error.hint} /> : 'No service was called in this time range.'}</p>
          {range.since !== 'all' && <button type="button" className="button" onClick={() => setParams({ since: null, until: null }, 'push')}>All time</button>}
        </EmptyState>
      )}
      {model && !empty && table && (
        <section className="panel-chart" aria-label="Service map">
          <header className="chart-head">
            <div className="chart-say">
              {chosen ? (
                <p className="row">
                  <strong>{readableCondition(chosen)}</strong>
                  <a className="button" href={datasetUrl(CALLS, seriesUrl(chosen))} onClick={followInPage}>Its calls</a>
                  <a className="button" href={rowsUrl(chosen)} onClick={followInPage}>Its traces</a>
                  <button type="button" className="link-button" onClick={() => setParams({ mark: null })}>Clear</button>
                </p>
              ) : <p className="muted">Click a service or an arrow’s label to see its calls and traces.</p>}
            </div>
            <button type="button" className="icon-button" aria-label="Save the map as PNG" title="Save as PNG" onClick={() => chart.current?.canvas && savePng(chart.current.canvas, model.sentence, 'map.png')}><Icon name="image" /></button>
            <button type="button" className="icon-button" aria-label="Save the calls as CSV" title="Save as CSV" onClick={() => saveCsv([table.columns.map((c) => c.name), ...table.rows.map((r) => r.map((c) => (c === null ? '' : typeof c === 'boolean' ? String(c) : c)))], 'map.csv')}><Icon name="download" /></button>
          </header>
          <ChartCanvas ref={chart} model={model} label="Service map" chosen={chosen} onPick={(m) => setParams({ mark: m.where }, 'push')} />
          {model.notes.length > 0 && <p className="chart-notes muted">{model.notes.join(' ')}</p>}
          <DataTable rows={table} label="Calls between services" behind={(row) => edgeCondition({ from: typeof row[0] === 'string' ? row[0] : '', to: typeof row[1] === 'string' ? row[1] : '', calls: 0, errors: 0, p50: null, p95: null })} onBehind={(where) => setParams({ mark: where }, 'push')} />
          <footer className="chart-foot"><span className="command"><code>{commandFor('query', CALLS, query)}</code><CopyButton text={commandFor('query', CALLS, query)} label="Copy the command" /></span></footer>
        </section>
      )}
    </div>
  )
}
