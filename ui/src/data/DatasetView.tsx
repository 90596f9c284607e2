import { lazy, Suspense, useEffect, useState } from 'react'
import { getColumns, listDatasets, type DatasetSummary, type UsedColumn } from '../api/datasets'
import { useAnswer } from '../api/use_answer'
import { selectionCondition } from '../charts/heat_chart'
import { dateTime } from '../parts/format'
import { Icon } from '../parts/Icon'
import { ErrorState, Skeleton } from '../parts/states'
import { rangeFromParams } from '../search/time_range'
import { TimeRangePicker } from '../search/TimeRangePicker'
import { followInPage, navigate, setParams, useRoute } from '../shell/router'
import { BehindMark } from './BehindMark'
import { ChartPanel } from './ChartPanel'
import { CHARTS, completeQuery, datasetUrl, queryFromParams, queryToParams, STANDARD_RANGE, type ChartQuery } from './chart_query'
import { ColumnList } from './ColumnList'
import { ConditionBar } from './ConditionBar'
import { QueryBuilder } from './QueryBuilder'
import { rowsText } from './values'

const SqlBox = lazy(() => import('./SqlBox').then((m) => ({ default: m.SqlBox })))
const DefinitionEditor = lazy(() => import('./DefinitionEditor').then((m) => ({ default: m.DefinitionEditor })))
const BackfillBox = lazy(() => import('./DefinitionEditor').then((m) => ({ default: m.BackfillBox })))
const SaveChart = lazy(() => import('../dashboards/SaveChart').then((m) => ({ default: m.SaveChart })))

// One dataset: its columns, a query, and the result as a chart with its table. The URL holds the state.
export function DatasetView({ name }: { name: string }) {
  const { params } = useRoute()
  const [reloads, setReloads] = useState(0)
  const about = useAnswer(`dataset ${name}`, reloads, async (signal) => {
    const [columns, all] = await Promise.all([getColumns(name, signal), listDatasets(signal)])
    return { columns, summary: all.find((d) => d.name === name) ?? null, nowMs: Date.now() }
  })
  useEffect(() => {
    document.title = `${name} · wherefore`
  }, [name])
  const [sentence, setSentence] = useState<string | null>(null)
  const range = rangeFromParams(params, STANDARD_RANGE)
  if (!about.data) {
    return about.error ? <ErrorState error={about.error} onRetry={() => setReloads((n) => n + 1)}><a className="button" href="/datasets" onClick={followInPage}>All datasets</a></ErrorState> : <Skeleton rows={12} label={`Loading ${name}`} />
  }
  const { columns, summary } = about.data
  const sql = params.get('sql')
  const defining = params.get('definition') !== null
  const charting = sql === null && !defining
  return (
    <div className="page dataset">
      <header className="dataset-head">
        <div className="answer">
          <h1>{(charting && sentence) || name}</h1>
          <p><a href="/datasets" onClick={followInPage}>Datasets</a> / <strong>{name}</strong><span className="dot" />{summary ? <SummaryLine summary={summary} /> : 'definition removed'}</p>
        </div>
        <TimeRangePicker key={`${range.since} ${range.until}`} range={range} standard={STANDARD_RANGE} />
      </header>
      <nav className="tabs" aria-label="Charts">
        {CHARTS.map(([kind, title]) => {
          const next = queryToParams({ ...queryFromParams(params), kind })
          const current = charting && queryFromParams(params).kind === kind
          return <a key={kind} href={datasetUrl(name, next)} aria-current={current ? 'page' : undefined} onClick={followInPage}>{title}</a>
        })}
        <a href={datasetUrl(name, new URLSearchParams({ sql: sql ?? '' }))} aria-current={sql !== null ? 'page' : undefined} onClick={followInPage}>SQL</a>
        <a href={datasetUrl(name, new URLSearchParams({ definition: '' }))} aria-current={defining ? 'page' : undefined} onClick={followInPage}>Definition</a>
        <span className="spring" />
        <a href={`/compare?${new URLSearchParams({ dataset: name, ...(params.get('where') ? { where: params.get('where')! } : {}) })}`} onClick={followInPage}>Compare…</a>
      </nav>
      <div className="dataset-body">
        <div className="dataset-main">
          {defining ? (
            <Suspense fallback={null}>
              <DefinitionEditor definition={summary?.definition ?? ''} standing={summary?.standing ?? false} onSaved={() => setReloads((n) => n + 1)} />
              {summary?.definition && <BackfillBox name={name} onDone={() => setReloads((n) => n + 1)} />}
            </Suspense>
          ) : sql !== null ? (
            <Suspense fallback={null}><SqlBox dataset={name} sql={sql} columns={columns} /></Suspense>
          ) : (
            <Question name={name} columns={columns} summary={summary} nowMs={about.data.nowMs} reloads={reloads} onReload={() => setReloads((n) => n + 1)} onSentence={setSentence} />
          )}
        </div>
        <ColumnList dataset={name} columns={columns} />
      </div>
    </div>
  )
}

function SummaryLine({ summary }: { summary: DatasetSummary }) {
  return (
    <>
      {rowsText(summary.rows)}
      {summary.owner && <><span className="dot" />owner {summary.owner}</>}
      {summary.newestNs !== null && <><span className="dot" />newest {dateTime(summary.newestNs).slice(0, 19)}</>}
      {summary.sampledBeforeNs !== null && <><span className="dot" />sampled before {dateTime(summary.sampledBeforeNs).slice(0, 10)}</>}
      {summary.fault && <><span className="dot" /><span className="bad">▲ {summary.fault}</span></>}
    </>
  )
}

interface QuestionProps {
  name: string
  columns: UsedColumn[]
  summary: DatasetSummary | null
  nowMs: number
  reloads: number
  onReload: () => void
  onSentence: (text: string | null) => void
}

function Question({ name, columns, summary, nowMs, reloads, onReload, onSentence }: QuestionProps) {
  const { params } = useRoute()
  const [saving, setSaving] = useState(false)
  const urlQuery = queryFromParams(params)
  const query = completeQuery(urlQuery, columns, summary, nowMs)
  const mark = params.get('mark')
  const selection = params.get('sel')
  // A new query clears what was selected in the result of the old one.
  const change = (changes: Partial<ChartQuery>) => {
    const url = datasetUrl(name, queryToParams({ ...urlQuery, ...changes }))
    if (url === location.pathname + location.search) onReload()
    else navigate(url)
  }
  const selected = selection && selectionCondition(selection, query.metric)
  const compareWith = (condition: string) =>
    `/compare?${new URLSearchParams({ dataset: name, a: 'rest', b: condition, ...(query.metric ? { metric: query.metric } : {}), ...(query.where ? { where: query.where } : {}), ...(query.since !== 'all' ? { since: query.since } : {}), ...(query.until ? { until: query.until } : {}) })}`
  return (
    <>
      <div className="query-bar">
        <ConditionBar dataset={name} columns={columns} text={urlQuery.where} label="Where" button="Run" onSubmit={(where) => change({ where })} />
        <button type="button" className="icon-button" aria-label="Refresh" title="Refresh" onClick={onReload}><Icon name="reset" /></button>
      </div>
      <QueryBuilder query={query} urlQuery={urlQuery} columns={columns} onChange={change} />
      {selected && (
        <p className="selection-note" role="status">
          A region is selected.{' '}
          <a className="button" href={compareWith(selected)} onClick={followInPage}>What is different here?</a>{' '}
          <button type="button" className="button" onClick={() => setParams({ mark: selected, sel: null }, 'push')}>Show its rows</button>{' '}
          <button type="button" className="button" onClick={() => zoom(selection)}>Zoom in</button>{' '}
          <button type="button" className="link-button" onClick={() => setParams({ sel: null })}>Clear selection</button>
        </p>
      )}
      <ChartPanel
        dataset={name}
        query={query}
        reloads={reloads}
        onSentence={onSentence}
        chosen={mark}
        selection={selection}
        tools={<button type="button" className="button quiet" onClick={() => setSaving(true)}><Icon name="plus" size={14} /> Dashboard</button>}
        onPick={(m) => setParams({ mark: m.where || null, sel: null }, 'push')}
        onSelect={(text) => setParams({ sel: text })}
        below={mark !== null && <BehindMark dataset={name} query={query} mark={mark} columns={columns} compareUrl={compareWith(mark)} />}
      />
      {saving && <Suspense fallback={null}><SaveChart dataset={name} query={queryToParams(urlQuery).toString()} onClose={() => setSaving(false)} /></Suspense>}
    </>
  )
}

function zoom(selection: string): void {
  const match = /^(\d+)-(\d+)/.exec(selection)
  if (match) setParams({ since: match[1]!, until: match[2]!, sel: null, bucket: null }, 'push')
}
