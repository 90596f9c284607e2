import { useEffect, useMemo, useRef, useState } from 'react'
import { queryDataset, type Rows, type UsedColumn } from '../api/datasets'
import { useAnswer } from '../api/use_answer'
import { ChartCanvas, type ChartHandle } from '../charts/ChartCanvas'
import { commandFor, datasetUrl } from '../data/chart_query'
import { joinConditions, quoteKey } from '../data/condition_language'
import { DataTable } from '../data/DataTable'
import { Choice } from '../data/QueryBuilder'
import { formatNumber, isNumeric } from '../data/values'
import { saveCsv, savePng } from '../parts/canvas'
import { grouped } from '../parts/format'
import { Icon } from '../parts/Icon'
import { CopyButton, EmptyState, ErrorState, Skeleton } from '../parts/states'
import { followInPage, setParams, useRoute } from '../shell/router'
import { flameChart, frameCondition } from './flame_chart'
import { flameTree, functionChanges } from './flame_model'

interface Props {
  dataset: string
  columns: UsedColumn[]
  a: string
  b: string
  where: string
  range: URLSearchParams
  onSentence: (text: string | null) => void
}

const STACKS = '20000'

// Function calls of two populations: the stacks of a column, merged and compared.
export function FlameView({ dataset, columns, a, b, where, range, onSentence }: Props) {
  const { params } = useRoute()
  const stacks = columns.filter((c) => c.type === 'stack')
  const stack = params.get('stack') ?? stacks[0]?.name ?? ''
  const weight = params.get('weight') ?? ''
  const side = params.get('width') === 'a' ? 'a' : 'b'
  const zoom = Number(params.get('zoom') ?? 0) || 0
  const [reloads, setReloads] = useState(0)
  const chart = useRef<ChartHandle>(null)
  const populationQuery = (population: string) => {
    const query = new URLSearchParams(range)
    const condition = joinConditions(where, population, `${quoteKey(stack)} exists`)
    query.set('where', condition)
    query.set('group_by', quoteKey(stack))
    query.set('agg', weight ? `sum(${quoteKey(weight)}),count` : 'count')
    query.set('limit', STACKS)
    return query
  }
  const ready = stack !== '' && a !== '' && b !== '' && a !== 'rest' && b !== 'rest'
  const { data, error, loading } = useAnswer(ready ? `flame ${dataset} ${populationQuery(a)} ${populationQuery(b)}` : '', reloads, async (signal): Promise<[Rows, Rows] | null> =>
    ready ? Promise.all([queryDataset(dataset, populationQuery(a), signal), queryDataset(dataset, populationQuery(b), signal)]) : null)
  const tree = useMemo(() => data && flameTree(data[0], data[1]), [data])
  const format = (value: number) => (weight ? formatNumber(weight, value) : `${Number((value * 100).toPrecision(3))} %`)
  const model = useMemo(() => tree && flameChart(tree, { side, zoom, stack, format }), [tree, side, zoom, stack, weight])
  const sentence = model?.sentence ?? null
  useEffect(() => onSentence(sentence), [sentence])
  const changes: Rows | null = useMemo(() => tree && {
    columns: [{ name: 'function', type: 'text' }, { name: 'a', type: 'text' }, { name: 'b', type: 'text' }, { name: 'change', type: 'text' }],
    rows: functionChanges(tree).slice(0, 2000).map((f) => [f.name, format(f.a), format(f.b), `${f.b > f.a ? '+' : f.b < f.a ? '−' : ''}${format(Math.abs(f.b - f.a))}`]),
    more: false, estimated: false, dialect: '',
  }, [tree, weight])
  const throughUrl = (frame: number) => {
    const query = new URLSearchParams(range)
    query.set('chart', 'rows')
    query.set('where', joinConditions(where, b, frameCondition(tree!, frame, quoteKey(stack))))
    return datasetUrl(dataset, query)
  }
  if (stacks.length === 0) {
    return (
      <EmptyState title={`${dataset} has no column of stack traces.`}>
        <p>To add one, put a line like this in its definition: <code>Row | Stack | RecordAs("stack")</code>.</p>
      </EmptyState>
    )
  }
  if (!ready) return <EmptyState title="Which two populations?"><p>Enter a condition for A and one for B above{a === 'rest' || b === 'rest' ? '; a flame graph does not support rest' : ''}.</p></EmptyState>
  const numbers = columns.filter((c) => isNumeric(c) && c.name !== 'time_ns').map((c) => c.name)
  const empty = tree && tree.frames.length === 1
  return (
    <section className="panel-chart" aria-label="Differential flame graph">
      <header className="chart-head">
        <div className="chart-say"><h2>Function calls, A against B</h2></div>
        {model && !empty && (
          <>
            <button type="button" className="icon-button" aria-label="Save the flame graph as PNG" title="Save as PNG" onClick={() => chart.current?.canvas && savePng(chart.current.canvas, model.sentence, `${dataset}-flame.png`)}><Icon name="image" /></button>
            <button type="button" className="icon-button" aria-label="Save the functions as CSV" title="Save as CSV" onClick={() => changes && saveCsv([changes.columns.map((c) => c.name), ...changes.rows.map((r) => r.map(String))], `${dataset}-flame.csv`)}><Icon name="download" /></button>
          </>
        )}
      </header>
      <div className="builder" role="group" aria-label="Flame graph">
        <Choice label="stacks" value={stack} options={stacks.map((c) => c.name)} onChange={(v) => setParams({ stack: v, zoom: null })} />
        <Choice label="weighted by" value={weight} none="rows" options={numbers} onChange={(v) => setParams({ weight: v || null })} />
        <div className="segmented" role="group" aria-label="Width">
          <button type="button" aria-pressed={side === 'b'} onClick={() => setParams({ width: null })}>width of B</button>
          <button type="button" aria-pressed={side === 'a'} onClick={() => setParams({ width: 'a' })}>width of A</button>
        </div>
        {zoom > 0 && <button type="button" className="button" onClick={() => setParams({ zoom: null })}>Show all</button>}
        {zoom > 0 && tree?.frames[zoom] && <a className="button" href={throughUrl(zoom)} onClick={followInPage}>Traces of B through {tree.frames[zoom]!.name}</a>}
        <span className="muted legend-diff"><i className="mark-more" /> + more in B <i className="mark-less" /> − less in B</span>
      </div>
      {error && !data && <ErrorState error={error} onRetry={() => setReloads((n) => n + 1)} />}
      {loading && !data && <Skeleton rows={8} label="Loading the stacks" />}
      {empty && <p className="muted pad">Neither population has a stack in {stack}.</p>}
      {model && !empty && <ChartCanvas ref={chart} model={model} label="Differential flame graph" onPick={(m) => setParams({ zoom: m.where === '0' ? null : m.where }, 'push')} />}
      {data && (data[0].more || data[1].more) && <p className="chart-notes muted">Shows the {grouped(Number(STACKS))} most frequent stacks of each population.</p>}
      {changes && !empty && <DataTable rows={changes} label="Functions by change in own time" />}
      <footer className="chart-foot">
        <span className="command"><code>{commandFor('query', dataset, populationQuery(b))}</code><CopyButton text={commandFor('query', dataset, populationQuery(b))} label="Copy the command for B" /></span>
      </footer>
    </section>
  )
}
