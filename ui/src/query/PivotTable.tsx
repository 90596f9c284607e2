import { memo } from 'react'
import type { Results } from './query_results'
import { count } from '../parts/format'
import { cellKey, pivotOf, type Cell } from './pivot'
import { show, type Unit } from './units'

const WIDTH = 60
const HEIGHT = 18
const SPARK_POINTS = 60

// The last intervals as a line, with gaps where there is no value. `max` is the scale.
const Sparkline = memo(function Sparkline({ series, max, zero }: { series: (number | null)[]; max: number; zero: boolean }) {
  const shown = series.slice(-SPARK_POINTS)
  if (shown.length < 2) return <svg className="spark" width={WIDTH} height={HEIGHT} aria-hidden="true" />
  const x = (i: number) => 1 + (i / (shown.length - 1)) * (WIDTH - 2)
  const y = (v: number) => HEIGHT - 1.5 - (max > 0 ? Math.max(0, v) / max : 0) * (HEIGHT - 3)
  let path = ''
  shown.forEach((given, i) => {
    const v = given ?? (zero ? 0 : null)
    if (v === null) return
    const joined = i > 0 && (zero || shown[i - 1] !== null)
    path += `${joined ? 'L' : 'M'}${x(i).toFixed(1)} ${y(v).toFixed(1)}`
  })
  return <svg className="spark" width={WIDTH} height={HEIGHT} aria-hidden="true"><path d={path} /></svg>
})

const maxValue = (cells: Cell[]): number => Math.max(0, ...cells.flatMap((c) => c.series.slice(-SPARK_POINTS).map((v) => v ?? 0)))

interface Props {
  results: Results
  value: number
  unit: Unit
  down: number
  across: number | null
  chosen: string | null
  onPick: (group: string) => void
}

// Lines of a row share one scale, so that they can be compared; a row's total has its own.
export function PivotTable({ results, value, unit, down, across, chosen, onPick }: Props) {
  const pivot = pivotOf(results, value, down, across)
  const single = pivot.columnName === null
  const zero = results.values[value]!.merge === 'sum'
  const inRow = (r: string) => pivot.columns.flatMap((c) => pivot.cells.get(cellKey(r, c)) ?? [])
  const scales = { cells: pivot.rows.map((r) => maxValue(single ? [...pivot.cells.values()] : inRow(r))), column: maxValue(pivot.columnTotals), grand: maxValue([pivot.grand]) }
  const timed = results.points.length > 1
  const content = (cell: Cell, max: number) => (
    <>
      {timed && <Sparkline series={cell.series} max={max} zero={zero} />}
      <span className="num">{show(unit, cell.total)}</span>
    </>
  )
  return (
    <>
      <div className="pivot-box" tabIndex={0} role="region" aria-label="Pivot table">
        <table className="pivot">
          <thead>
            <tr>
              <th scope="col" className="pivot-corner">{pivot.rowName || '\u00a0'}{!single && <span className="muted"> ↓ {pivot.columnName} →</span>}</th>
              {pivot.columns.map((c) => <th key={c} scope="col" className="right">{single ? results.values[value]!.name : c}</th>)}
              {!single && pivot.margins && <th scope="col" className="right pivot-margin">total</th>}
            </tr>
          </thead>
          <tbody>
            {pivot.rows.map((r, i) => (
              <tr key={r}>
                <th scope="row" title={r}>{r || 'all'}</th>
                {pivot.columns.map((c) => {
                  const cell = pivot.cells.get(cellKey(r, c))
                  if (!cell) return <td key={c} className="right muted">·</td>
                  const [only] = cell.groups
                  const pickable = cell.groups.length === 1 && results.keys.length > 0
                  return (
                    <td key={c} className="right" title={cell.total === null ? undefined : String(cell.total)}>
                      {pickable ? (
                        <button type="button" className="pivot-cell" aria-pressed={chosen === only!.id} aria-label={`${[r, c].filter(Boolean).join(', ')}: ${show(unit, cell.total)}. Example traces`} onClick={() => onPick(only!.id)}>{content(cell, scales.cells[i]!)}</button>
                      ) : <span className="pivot-cell">{content(cell, scales.cells[i]!)}</span>}
                    </td>
                  )
                })}
                {!single && pivot.margins && <td className="right pivot-margin" title={String(pivot.rowTotals[i]!.total)}><span className="pivot-cell">{content(pivot.rowTotals[i]!, maxValue([pivot.rowTotals[i]!]))}</span></td>}
              </tr>
            ))}
          </tbody>
          {pivot.margins && results.keys.length > 0 && (
            <tfoot>
              <tr>
                <th scope="row">total</th>
                {pivot.columns.map((c, i) => <td key={c} className="right pivot-margin" title={String(pivot.columnTotals[i]!.total)}><span className="pivot-cell">{content(pivot.columnTotals[i]!, scales.column)}</span></td>)}
                {!single && <td className="right pivot-margin pivot-grand" title={String(pivot.grand.total)}><span className="pivot-cell">{content(pivot.grand, scales.grand)}</span></td>}
              </tr>
            </tfoot>
          )}
        </table>
      </div>
      {timed && !single && <p className="chart-notes muted">Lines show the last {Math.min(results.points.length, SPARK_POINTS)} intervals; cells of a row share a scale, its total has its own.</p>}
      {!pivot.margins && <p className="chart-notes muted">{results.values[value]!.name} does not add up across groups, so there are no totals{timed && '; cells show the newest value until the query ends'}.</p>}
      {pivot.shownColumns > pivot.columns.length && <p className="chart-notes muted">{count(pivot.shownColumns - pivot.columns.length, 'more column')} in the table of groups; the totals include them.</p>}
      {new Set(results.groups.map((g) => g.keys[down])).size > pivot.rows.length && pivot.margins && <p className="chart-notes muted">Only the {pivot.rows.length} largest rows are shown; the totals include all.</p>}
    </>
  )
}
