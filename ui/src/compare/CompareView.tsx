import { lazy, Suspense, useEffect, useState } from 'react'
import { compareDataset, getColumns, listDatasets, type Comparison, type Difference, type UsedColumn } from '../api/datasets'
import { useAnswer } from '../api/use_answer'
import { commandFor, datasetUrl, STANDARD_RANGE } from '../data/chart_query'
import { readableCondition } from '../data/BehindMark'
import { ConditionBar } from '../data/ConditionBar'
import { cellCondition, joinConditions } from '../data/condition_language'
import { Choice } from '../data/QueryBuilder'
import { INSTANT, isNumeric, usualMetric } from '../data/values'
import { saveCsv } from '../parts/canvas'
import { count, grouped } from '../parts/format'
import { Icon } from '../parts/Icon'
import { CopyButton, EmptyState, ErrorState, Skeleton } from '../parts/states'
import { rangeFromParams } from '../search/time_range'
import { TimeRangePicker } from '../search/TimeRangePicker'
import { followInPage, setParams, useRoute } from '../shell/router'
import { BeforeAfter } from './BeforeAfter'
import { answerSentence, changeText, metricSentence, probability, sideText, SIGNIFICANT } from './differences'

const FlameView = lazy(() => import('./FlameView').then((m) => ({ default: m.FlameView })))

const WORDS = ['rest']

// Two populations of one dataset: which columns differ most.
export function CompareView() {
  const { params } = useRoute()
  const [reloads, setReloads] = useState(0)
  const all = useAnswer('datasets', reloads, listDatasets)
  const dataset = params.get('dataset') ?? all.data?.find((d) => d.rows > 0)?.name ?? ''
  const about = useAnswer(`columns ${dataset}`, reloads, async (signal): Promise<UsedColumn[]> => (dataset ? getColumns(dataset, signal) : []))
  useEffect(() => {
    document.title = 'Compare · wherefore'
  }, [])
  const [flameSentence, setFlameSentence] = useState<string | null>(null)
  const error = all.error ?? about.error
  const range = rangeFromParams(params, STANDARD_RANGE)
  const columns = about.data
  const a = params.get('a') ?? ''
  const b = params.get('b') ?? ''
  const where = params.get('where') ?? ''
  const metric = params.get('metric') ?? (columns ? usualMetric(columns) : '')
  const flame = params.get('show') === 'flame'
  const summary = all.data?.find((d) => d.name === dataset)
  const rangeParams = new URLSearchParams()
  if (range.since !== 'all') rangeParams.set('since', range.since)
  if (range.until) rangeParams.set('until', range.until)
  const submit = (key: string) => (text: string) => setParams({ [key]: text, zoom: null }, 'push')
  return (
    <div className="page compare">
      <header className="dataset-head">
        <div className="answer">
          {columns && a && b && !flame ? null : <h1>{(flame && flameSentence) || 'Compare two populations'}</h1>}
          {columns && a && b && !flame ? <AnswerLine key={`${dataset} ${a} ${b}`} dataset={dataset} a={a} b={b} where={where} metric={metric} range={rangeParams} reloads={reloads} /> : null}
        </div>
        <TimeRangePicker key={`${range.since} ${range.until}`} range={range} standard={STANDARD_RANGE} />
      </header>
      {error && !all.data && <ErrorState error={error} onRetry={() => setReloads((n) => n + 1)} />}
      {all.loading && !all.data && <Skeleton rows={8} label="Loading the datasets" />}
      {all.data && dataset === '' && <EmptyState title="No dataset has rows yet."><p>A population is a set of dataset rows. New traces add rows; <code>wherefore dataset backfill NAME</code> adds rows for stored traces.</p></EmptyState>}
      {all.data && dataset !== '' && about.error && !columns && <ErrorState error={about.error} onRetry={() => setReloads((n) => n + 1)} />}
      {columns && dataset !== '' && (
        <>
          <div className="populations">
            <div className="builder">
              <Choice label="dataset" value={dataset} options={all.data?.map((d) => d.name) ?? [dataset]} onChange={(v) => setParams({ dataset: v, a: null, b: null, where: null, metric: null, stack: null }, 'push')} />
              <Choice label="explain" value={metric} none="any difference" options={columns.filter((c) => isNumeric(c) && c.name !== INSTANT).map((c) => c.name)} onChange={(v) => setParams({ metric: v }, 'push')} />
              <BeforeAfter summary={summary ?? null} />
              <button type="button" className="button quiet" onClick={() => setParams({ a: b, b: a }, 'push')} disabled={!a && !b}>Swap A and B</button>
            </div>
            <div className="population"><span className="side">A</span><ConditionBar dataset={dataset} columns={columns} text={a} label="Population A" words={WORDS} placeholder='version = "1.2", or rest: all rows not in B' onSubmit={submit('a')} />{/time_ns/.test(a) && <span className="muted small">{readableCondition(a)}</span>}</div>
            <div className="population"><span className="side">B</span><ConditionBar dataset={dataset} columns={columns} text={b} label="Population B" words={WORDS} placeholder='version = "1.3"' onSubmit={submit('b')} />{/time_ns/.test(b) && <span className="muted small">{readableCondition(b)}</span>}</div>
            <div className="population"><span className="side muted">both</span><ConditionBar dataset={dataset} columns={columns} text={where} label="Filter for both" placeholder="all rows" onSubmit={submit('where')} /></div>
          </div>
          <nav className="tabs" aria-label="Comparison">
            <a href={tabUrl(params, null)} aria-current={flame ? undefined : 'page'} onClick={followInPage}>What differs</a>
            <a href={tabUrl(params, 'flame')} aria-current={flame ? 'page' : undefined} onClick={followInPage}>Function calls</a>
          </nav>
          {flame ? (
            <Suspense fallback={null}><FlameView dataset={dataset} columns={columns} a={a} b={b} where={where} range={rangeParams} onSentence={setFlameSentence} /></Suspense>
          ) : a && b ? (
            <Differences dataset={dataset} columns={columns} a={a} b={b} where={where} metric={metric} range={rangeParams} reloads={reloads} onReload={() => setReloads((n) => n + 1)} />
          ) : (
            <EmptyState title="Which two populations?">
              <p>Enter a condition for each: before and after a time, two versions, or a selection and <code>rest</code>. Selecting a region of a heat map leads here too.</p>
            </EmptyState>
          )}
        </>
      )}
    </div>
  )
}

function tabUrl(params: URLSearchParams, show: string | null): string {
  const next = new URLSearchParams(params)
  next.delete('show')
  next.delete('zoom')
  if (show) next.set('show', show)
  return `/compare?${next}`
}

interface ComparisonQuery {
  dataset: string
  a: string
  b: string
  where: string
  metric: string
  range: URLSearchParams
  reloads: number
}

function compareParams({ a, b, where, metric, range }: ComparisonQuery): URLSearchParams {
  const query = new URLSearchParams({ a, b })
  if (metric) query.set('metric', metric)
  if (where) query.set('where', where)
  for (const [key, value] of range) query.set(key, value)
  query.set('show', 'all')
  return query
}

const useComparison = (comparison: ComparisonQuery) => {
  const query = compareParams(comparison)
  return useAnswer(`compare ${comparison.dataset} ${query}`, comparison.reloads, (signal) => compareOnce(comparison.dataset, query, comparison.reloads, signal))
}

// The heading and the table show the same answer, so it is loaded once.
let last: { key: string; answer: Promise<Comparison> } | null = null
function compareOnce(dataset: string, query: URLSearchParams, reloads: number, _signal: AbortSignal): Promise<Comparison> {
  const key = `${dataset} ${query} ${reloads}`
  if (last?.key !== key) last = { key, answer: compareDataset(dataset, query) }
  const { answer } = last
  answer.catch(() => {
    if (last?.answer === answer) last = null
  })
  return answer
}

function AnswerLine(comparison: ComparisonQuery) {
  const { data, error } = useComparison(comparison)
  if (error) return <h1>The comparison failed</h1>
  if (!data) return <h1 className="muted">Comparing…</h1>
  return (
    <>
      <h1>{answerSentence(data, comparison.metric)}</h1>
      <p>{metricSentence(data)}<span className="dot" />{grouped(data.nA)} rows in A, {grouped(data.nB)} in B</p>
    </>
  )
}

const QUESTION_NAMES: Record<Difference['question'], string> = { shift: 'values', mix: 'share', within: 'metric in this group' }

function Differences({ columns, onReload, ...comparison }: ComparisonQuery & { columns: UsedColumn[]; onReload: () => void }) {
  const { data, error, loading } = useComparison(comparison)
  const { params } = useRoute()
  const everything = params.get('all') === '1'
  if (error && !data) return <ErrorState error={error} onRetry={onReload} />
  if (!data) return loading ? <Skeleton rows={8} label="Comparing" /> : null
  const shown = everything ? data.columns : data.columns.filter((d) => d.q <= SIGNIFICANT)
  const hidden = data.columns.length - shown.length
  const command = commandFor('compare', comparison.dataset, compareParams(comparison))
  const linkOf = (d: Difference) => {
    const column = columns.find((c) => c.name === d.column)
    const limits = joinConditions(comparison.where, d.question === 'within' && column ? cellCondition(column, typedValue(column, d.value)) : '')
    const query = new URLSearchParams(comparison.range)
    if (limits) query.set('where', limits)
    if (d.question === 'mix') {
      query.set('chart', 'breakdown')
      query.set('group_by', d.column)
      query.set('agg', 'count')
    } else {
      query.set('chart', 'heat')
      query.set('metric', d.question === 'within' ? comparison.metric : d.column)
    }
    return datasetUrl(comparison.dataset, query)
  }
  const save = () => saveCsv([['column', 'value', 'question', 'a', 'b', 'effect', 'p', 'q'], ...data.columns.map((d) => [d.column, d.value ?? '', d.question, d.a, d.b, d.effect, d.p, d.q])], `${comparison.dataset}-compare.csv`)
  return (
    <section className="panel-chart" aria-label="What differs">
      <header className="chart-head">
        <div className="chart-say"><p className="sentence">{shown.length === 0 ? 'No significant difference (q ≤ 0.05).' : `${count(shown.length, everything ? 'comparison' : 'significant difference')}, largest effect first`}</p></div>
        <button type="button" className="icon-button" aria-label="Save the differences as CSV" title="Save as CSV" onClick={save}><Icon name="download" /></button>
      </header>
      {shown.length > 0 && (
        <div className="table-box" tabIndex={0} role="region" aria-label="Differences">
          <table className="grid">
            <thead><tr><th>Column</th><th>Compared</th><th className="right">A</th><th className="right">B</th><th className="right">Change</th><th className="effect-head">Effect</th><th className="right">p</th><th className="right">q</th></tr></thead>
            <tbody>
              {shown.slice(0, 500).map((d) => (
                <tr key={`${d.column} ${d.question} ${d.value}`}>
                  <td><a href={linkOf(d)} onClick={followInPage}>{d.column}{d.value !== null && <> = <strong>{d.value}</strong></>}</a></td>
                  <td className="muted">{QUESTION_NAMES[d.question]}</td>
                  <td className="num right">{sideText(d, comparison.metric, 'a')}</td>
                  <td className="num right">{sideText(d, comparison.metric, 'b')}</td>
                  <td className="num right">{changeText(d, comparison.metric)}</td>
                  <td><Effect effect={d.effect} /></td>
                  <td className="num right">{probability(d.p)}</td>
                  <td className="num right">{probability(d.q)}{d.q > SIGNIFICANT && <span className="muted" title="not significant"> n.s.</span>}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      <footer className="chart-foot">
        {(hidden > 0 || everything) && <button type="button" className="link-button" onClick={() => setParams({ all: everything ? null : '1' })}>{everything ? 'Only significant differences' : `${grouped(hidden)} more without a significant difference`}</button>}
        <span className="command"><code>{command}</code><CopyButton text={command} label="Copy the command" /></span>
      </footer>
    </section>
  )
}

function typedValue(column: UsedColumn, value: string | null): string | number | boolean | null {
  if (value === null || column.type === 'text') return value
  return column.type === 'bool' ? value === 'true' : Number(value)
}

// From −1 (all lower in B) to 1 (all higher): a bar from the middle, and the number.
function Effect({ effect }: { effect: number }) {
  const size = Math.min(1, Math.abs(effect)) * 50
  return (
    <span className="effect" title={`effect ${effect}`}>
      <span className="effect-bar" aria-hidden="true"><i className={effect < 0 ? 'less' : 'more'} style={{ width: `${size}%`, left: effect < 0 ? `${50 - size}%` : '50%' }} /></span>
      <span className="num">{effect > 0 ? '+' : effect < 0 ? '−' : ''}{Math.abs(effect).toFixed(2)}</span>
    </span>
  )
}
