import { useMemo, useRef, useState } from 'react'
import type { Cell, Column, Rows } from '../api/datasets'
import { useSize } from '../parts/canvas'
import { Icon } from '../parts/Icon'
import { followInPage } from '../shell/router'
import { exactCell, formatCell, typeName } from './values'

const ROW = 28
const OVERSCAN = 10
const SAMPLE = 200

function widthOf(column: Column, index: number, rows: Cell[][]): number {
  if (column.name === 'trace_id') return 160
  let widest = column.name.length + 1
  for (const row of rows.slice(0, SAMPLE)) widest = Math.max(widest, formatCell(column, row[index] ?? null).length)
  return Math.min(36, Math.max(6, widest)) * 7.4 + 24
}

// Rows of an answer, virtualised. trace_id links to its trace; with `behind` each row gets a button to the rows behind
// it.
export function DataTable({ rows, label, behind, onBehind, fill = false }: { rows: Rows; label: string; behind?: (row: Cell[]) => string; onBehind?: (where: string) => void; fill?: boolean }) {
  const box = useRef<HTMLDivElement>(null)
  const { height } = useSize(box)
  const [top, setTop] = useState(0)
  const [sort, setSort] = useState<{ column: number; descending: boolean } | null>(null)
  const sorted = useMemo(() => {
    if (!sort) return rows.rows
    const sign = sort.descending ? -1 : 1
    return [...rows.rows].sort((x, y) => {
      const a = x[sort.column] ?? null
      const b = y[sort.column] ?? null
      if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1
      return a < b ? -sign : a > b ? sign : 0
    })
  }, [rows, sort])
  const widths = useMemo(() => rows.columns.map((c, i) => widthOf(c, i, rows.rows)), [rows])
  const action = behind && onBehind ? 40 : 0
  const first = Math.max(0, Math.floor(top / ROW) - OVERSCAN)
  const last = Math.min(sorted.length, Math.ceil((top + Math.max(height, 320)) / ROW) + OVERSCAN)
  const template = `${action ? '40px ' : ''}${widths.map((w) => `minmax(${Math.round(w)}px, ${Math.round(w)}fr)`).join(' ')}`
  return (
    <div className={`rows ${fill ? 'rows-fill' : ''}`} ref={box} role="table" aria-label={label} aria-rowcount={sorted.length + 1} tabIndex={0} onScroll={(event) => setTop(event.currentTarget.scrollTop)}>
      <div role="rowgroup" className="rows-head" style={{ minWidth: widths.reduce((a, b) => a + b, action) }}>
        <div role="row" className="rows-row" style={{ gridTemplateColumns: template }}>
          {action > 0 && <div role="columnheader"><span className="sr-only">Rows behind</span></div>}
          {rows.columns.map((c, i) => {
            const right = c.type === 'int' || c.type === 'double'
            const mark = sort?.column === i ? (sort.descending ? '▾' : '▴') : ''
            return (
              <div key={c.name} role="columnheader" className={right ? 'right' : ''} aria-sort={sort?.column === i ? (sort.descending ? 'descending' : 'ascending') : 'none'}>
                <button type="button" className="sort" title={`${c.name} (${typeName(c.type)})`} onClick={() => setSort({ column: i, descending: sort?.column === i ? !sort.descending : right })}>
                  {c.name} <span aria-hidden="true">{mark}</span>
                </button>
              </div>
            )
          })}
        </div>
      </div>
      <div role="rowgroup" style={{ minWidth: widths.reduce((a, b) => a + b, action) }}>
        <div role="presentation" style={{ height: first * ROW }} />
        {sorted.slice(first, last).map((row, offset) => (
          <div key={first + offset} role="row" aria-rowindex={first + offset + 2} className="rows-row" style={{ gridTemplateColumns: template }}>
            {action > 0 && (
              <div role="cell">
                <button type="button" className="icon-button small" aria-label={`Rows behind ${behind!(row)}`} title="Show the rows behind this" onClick={() => onBehind!(behind!(row))}><Icon name="goto" size={12} /></button>
              </div>
            )}
            {rows.columns.map((c, i) => {
              const cell = row[i] ?? null
              const right = c.type === 'int' || c.type === 'double'
              return (
                <div key={c.name} role="cell" className={right ? 'num right' : ''} title={exactCell(c, cell)}>
                  {c.name === 'trace_id' && typeof cell === 'string' ? <a className="mono" href={`/trace/${cell}`} onClick={followInPage}>{cell.slice(0, 16)}…</a> : cell === null ? <span className="muted">–</span> : formatCell(c, cell)}
                </div>
              )
            })}
          </div>
        ))}
        <div role="presentation" style={{ height: Math.max(0, (sorted.length - last) * ROW) }} />
      </div>
    </div>
  )
}
