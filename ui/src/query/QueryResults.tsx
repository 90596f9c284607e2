import { useMemo, useRef } from 'react'
import { ChartCanvas, type ChartHandle } from '../charts/ChartCanvas'
import type { Cell, Column } from '../api/datasets'
import type { Value } from '../api/queries'
import { DataTable } from '../data/DataTable'
import { count } from '../parts/format'
import { saveCsv, savePng } from '../parts/canvas'
import { Icon } from '../parts/Icon'
import { CopyButton } from '../parts/states'
import { setParams } from '../shell/router'
import type { Span } from './examples'
import { groupChart } from './group_chart'
import { GroupExamples } from './GroupExamples'
import { PivotTable } from './PivotTable'
import { addsUp, valueText, type Results } from './query_results'
import type { Outline } from './query_text'
import { UNITS, type Unit } from './units'

export interface Choice {
  view: 'chart' | 'pivot' | 'table'
  value: number
  unit: Unit
  down: number
  across: number | null
  by: number | null
}

interface Props {
  results: Results
  outline: Outline
  choice: Choice
  group: string | null
  span: Span | null
  range: URLSearchParams | null
  command: string
}

const cellOf = (v: Value): Cell => (Array.isArray(v) ? valueText(v) : v)

function tableColumns(columns: string[], rows: Value[][]): Column[] {
  return columns.map((name, i) => {
    const first = rows.find((r) => r[i] !== null && r[i] !== undefined)?.[i]
    return { name, type: typeof first === 'number' || typeof first === 'bigint' ? 'double' : typeof first === 'boolean' ? 'bool' : 'text' }
  })
}

function Select({ label, value, options, onChange }: { label: string; value: string; options: [string, string][]; onChange: (value: string) => void }) {
  return (
    <label className="choice">
      <span className="muted">{label}</span>
      <select value={value} onChange={(event) => onChange(event.target.value)}>
        {options.map(([v, name]) => <option key={v} value={v}>{name}</option>)}
      </select>
    </label>
  )
}

// The result in three views: lines over time, a pivot table, and all groups.
export function QueryResults({ results, outline, choice, group, span, range, command }: Props) {
  const chart = useRef<ChartHandle>(null)
  const { value, unit, by } = choice
  const timed = results.points.length > 0 && !results.raw
  const view = results.raw || results.values.length === 0 ? 'table' : choice.view === 'chart' && !timed ? 'pivot' : choice.view
  const model = useMemo(() => (view === 'chart' ? groupChart(results, value, by, unit) : null), [view, results, value, by, unit])
  const chosen = results.groups.find((g) => g.id === group) ?? null
  const columns = useMemo(() => tableColumns(results.columns, results.rows), [results])
  const keyNames = results.keys.map((k, i): [string, string] => [String(i), k.name])
  const pick = (id: string) => id && setParams({ group: id === group ? null : id })
  const views: [Choice['view'], string, boolean][] = [['chart', 'Over time', timed && results.values.length > 0], ['pivot', 'Pivot', results.values.length > 0], ['table', 'Groups', true]]
  const byAlone = results.values[value] && addsUp(results.values[value]!) && results.keys.length > 1
  return (
    <section className="panel-chart query-results" aria-label="Result">
      <header className="chart-head">
        {!results.raw && (
          <div className="segmented" role="group" aria-label="View">
            {views.map(([v, name, can], i) => <button key={v} type="button" aria-pressed={view === v} disabled={!can} title={can ? `Key ${i + 1}` : 'The result has no time column: add Window 1m to the query'} onClick={() => setParams({ view: v })}>{name}</button>)}
          </div>
        )}
        <div className="builder">
          {results.values.length > 1 && view !== 'table' && <Select label="value" value={String(value)} options={results.values.map((v, i) => [String(i), v.name])} onChange={(v) => setParams({ value: v, unit: null })} />}
          {view === 'pivot' && results.keys.length > 1 && (
            <>
              <Select label="rows" value={String(choice.down)} options={keyNames} onChange={(v) => setParams({ rows: v, ...(Number(v) === choice.across ? { cols: String(choice.down) } : {}) })} />
              <Select label="columns" value={choice.across === null ? '-' : String(choice.across)} options={[...keyNames.filter(([v]) => v !== String(choice.down)), ['-', 'none']]} onChange={(v) => setParams({ cols: v })} />
              <button type="button" className="icon-button small" aria-label="Swap rows and columns" title="Swap rows and columns" disabled={choice.across === null} onClick={() => setParams({ rows: String(choice.across), cols: String(choice.down) })}><Icon name="compare" size={14} /></button>
            </>
          )}
          {view === 'chart' && byAlone && <Select label="one line per" value={by === null ? '-' : String(by)} options={[['-', 'group'], ...keyNames]} onChange={(v) => setParams({ by: v })} />}
          {view !== 'table' && results.values.length > 0 && <Select label="unit" value={unit} options={UNITS.map((u) => [u, u])} onChange={(v) => setParams({ unit: v })} />}
        </div>
        <span className="spring" />
        {view === 'chart' && <button type="button" className="icon-button" aria-label="Save as PNG" title="Save as PNG" onClick={() => chart.current?.canvas && savePng(chart.current.canvas, command, 'query.png')}><Icon name="image" /></button>}
        <button type="button" className="icon-button" aria-label="Save as CSV" title="Save the groups as CSV" onClick={() => saveCsv([results.columns, ...results.rows.map((row) => row.map((v) => (v === null ? '' : typeof v === 'number' || typeof v === 'bigint' ? v : valueText(v))))], 'query.csv')}><Icon name="download" /></button>
      </header>
      {model && <ChartCanvas ref={chart} model={model} label="Values over time" onPick={(mark) => pick(mark.where)} />}
      {model && model.notes.length > 0 && <p className="chart-notes muted">{model.notes.join(' ')}</p>}
      {view === 'pivot' && <PivotTable results={results} value={value} unit={unit} down={choice.down} across={choice.across} chosen={group} onPick={pick} />}
      {view === 'table' && (
        <DataTable
          rows={{ columns, rows: results.rows.map((row) => row.map(cellOf)), more: false, estimated: false, dialect: '' }} label="Groups" fill
          behind={results.raw || results.keys.length === 0 ? undefined : (row) => results.keys.map((k, i) => `${k.name} = ${String(row[i])}`).join(', ')}
          onBehind={results.raw || results.keys.length === 0 ? undefined : (where) => pick(results.groups.find((g) => results.keys.map((k, i) => `${k.name} = ${String(cellOf(g.keys[i]!))}`).join(', ') === where)?.id ?? '')}
        />
      )}
      {chosen && <GroupExamples key={chosen.id} outline={outline} keys={results.keys.map((item, i) => ({ item, value: chosen.keys[i] ?? null }))} span={span} range={range} onClose={() => setParams({ group: null })} />}
      <footer className="chart-foot">
        <span className="muted">{results.raw ? count(results.rows.length, 'row') : count(results.groups.length, 'group')}{results.leftOut > 0 && `, ${count(results.leftOut, 'row')} of further groups left out`}{results.raw && results.rows.length >= 1000 && ', newest only'}{!results.raw && results.keys.length > 0 && !chosen && ' · click one for example traces'}</span>
        <span className="command"><code>{command}</code><CopyButton text={command} label="Copy the command" /></span>
      </footer>
    </section>
  )
}
