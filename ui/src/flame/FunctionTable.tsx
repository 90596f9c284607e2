import { useMemo } from 'react'
import { duration, exactNs, percent } from '../parts/format'
import { useVirtualRows } from '../parts/virtual_rows'
import type { FunctionTotal } from './flame_model'

const ROW = 28

export function FunctionTable({ strings, totals, whole, selected, find, onSelect }: { strings: string[]; totals: FunctionTotal[]; whole: number; selected: number; find: string; onSelect: (name: number) => void }) {
  const wanted = find.trim().toLowerCase()
  const shown = useMemo(() => (wanted ? totals.filter((t) => strings[t.name]!.toLowerCase().includes(wanted)) : totals), [totals, strings, wanted])
  const rows = useVirtualRows(shown.length, ROW)
  return (
    <div className="functions" role="table" aria-label="Functions by own time" aria-rowcount={shown.length + 1}>
      <div role="rowgroup">
        <div className="functions-row functions-head" role="row">
          <div role="columnheader" className="right">Own time</div>
          <div role="columnheader" className="right">Total</div>
          <div role="columnheader">Function</div>
        </div>
      </div>
      <div className="functions-scroll" role="rowgroup" ref={rows.box} onScroll={rows.onScroll}>
        <div role="presentation" style={{ height: rows.above }} />
        {shown.slice(rows.first, rows.last).map((t, k) => (
          <div key={t.name} role="row" aria-rowindex={rows.first + k + 2} className={`functions-row ${t.name === selected ? 'current' : ''}`}>
            <div role="cell" className="num right" title={exactNs(t.self)}>{duration(t.self)} <span className="muted">{percent(t.self, whole)}</span></div>
            <div role="cell" className="num right" title={exactNs(t.total)}>{duration(t.total)} <span className="muted">{percent(t.total, whole)}</span></div>
            <div role="cell"><button type="button" className="link-button plain-text" aria-pressed={t.name === selected} title={strings[t.name]} onClick={() => onSelect(t.name)}>{strings[t.name]}</button></div>
          </div>
        ))}
        <div role="presentation" style={{ height: rows.below }} />
        {shown.length === 0 && <div role="row"><div role="cell" className="muted">No function matches.</div></div>}
      </div>
    </div>
  )
}
