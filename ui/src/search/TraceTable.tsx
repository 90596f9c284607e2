import { useMemo, useRef, useState } from 'react'
import type { TraceSummary } from '../api/types'
import { useSize } from '../parts/canvas'
import { serviceColour } from '../parts/colours'
import { clockTime, date, duration, exactNs, grouped, instantTitle } from '../parts/format'
import { followInPage, setParams } from '../shell/router'
import { useTheme } from '../shell/theme'

export type SortKey = 'start' | 'duration' | 'spans' | 'errors' | 'name'

export interface Sort {
  key: SortKey
  descending: boolean
}

export function sortFromParam(text: string | null): Sort {
  const match = /^(-?)(start|duration|spans|errors|name)$/.exec(text ?? '')
  return match ? { key: match[2] as SortKey, descending: match[1] === '-' } : { key: 'start', descending: true }
}

const COMPARE: Record<SortKey, (a: TraceSummary, b: TraceSummary) => number> = {
  start: (a, b) => (a.start_ns < b.start_ns ? -1 : a.start_ns > b.start_ns ? 1 : 0),
  duration: (a, b) => a.duration_ns - b.duration_ns,
  spans: (a, b) => a.spans - b.spans,
  errors: (a, b) => a.errors - b.errors,
  name: (a, b) => a.service.localeCompare(b.service) || a.name.localeCompare(b.name),
}

export const sortTraces = (traces: TraceSummary[], sort: Sort): TraceSummary[] =>
  [...traces].sort((a, b) => (sort.descending ? -1 : 1) * COMPARE[sort.key](a, b) || (a.trace_id < b.trace_id ? -1 : 1))

const ROW = 28
const OVERSCAN = 8

// A virtualised table; arrows move between rows, Enter opens the trace.
export function TraceTable({ traces, sort, picked, footer }: { traces: TraceSummary[]; sort: Sort; picked: string[]; footer: React.ReactNode }) {
  const theme = useTheme()
  const box = useRef<HTMLDivElement>(null)
  const { height } = useSize(box)
  const [top, setTop] = useState(0)
  const [current, setCurrent] = useState(0)
  const sorted = useMemo(() => sortTraces(traces, sort), [traces, sort])
  const longest = useMemo(() => traces.reduce((max, t) => Math.max(max, t.duration_ns), 1), [traces])
  const first = Math.max(0, Math.floor(top / ROW) - OVERSCAN)
  const last = Math.min(sorted.length, Math.ceil((top + Math.max(height, 300)) / ROW) + OVERSCAN)

  const focusRow = (index: number) => {
    const to = Math.max(0, Math.min(sorted.length - 1, index))
    setCurrent(to)
    const element = box.current
    if (element) {
      const y = to * ROW
      if (y < element.scrollTop) element.scrollTop = y
      else if (y + 2 * ROW > element.scrollTop + element.clientHeight) element.scrollTop = y + 2 * ROW - element.clientHeight
    }
    requestAnimationFrame(() => requestAnimationFrame(() => box.current?.querySelector<HTMLElement>(`[data-row="${to}"]`)?.focus({ preventScroll: true })))
  }
  const onKeyDown = (event: React.KeyboardEvent) => {
    if (event.key === 'x' && sorted[current]) onPick(sorted[current]!.trace_id, !picked.includes(sorted[current]!.trace_id))
    const steps: Record<string, number> = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: 15, PageUp: -15, Home: -1e9, End: 1e9 }
    const step = steps[event.key]
    if (step === undefined || event.ctrlKey || event.metaKey) return
    event.preventDefault()
    focusRow(current + step)
  }
  // A third selection replaces the older of the two.
  const onPick = (id: string, on: boolean) => setParams({ pick: (on ? [...picked, id].slice(-2) : picked.filter((p) => p !== id)).join(',') })
  const heading = (key: SortKey, label: string, className: string) => {
    const mark = <span className="sort-mark" aria-hidden="true">{sort.key === key ? (sort.descending ? '▾' : '▴') : ''}</span>
    return (
    <div role="columnheader" className={className} aria-sort={sort.key === key ? (sort.descending ? 'descending' : 'ascending') : 'none'}>
      <button
        type="button"
        className="sort"
        onClick={() => {
          const descending = sort.key === key ? !sort.descending : key !== 'name'
          setParams({ sort: key === 'start' && descending ? null : `${descending ? '-' : ''}${key}` })
        }}
      >
        {className.includes('right') && mark}
        {label}
        {!className.includes('right') && mark}
      </button>
    </div>
    )
  }
  return (
    <div className="traces" role="table" aria-label="Traces" aria-rowcount={sorted.length + 1}>
      <div role="rowgroup">
        <div className="traces-row traces-head" role="row">
          <div role="columnheader" className="c-pick"><span className="sr-only">Compare</span></div>
          {heading('start', 'Start', 'c-start')}
          {heading('name', 'Service and operation', 'c-name')}
          {heading('duration', 'Duration', 'c-duration right')}
          <div role="columnheader" className="c-bar"><span className="sr-only">Duration as a bar</span></div>
          {heading('spans', 'Spans', 'c-spans right')}
          {heading('errors', 'Errors', 'c-errors right')}
        </div>
      </div>
      <div className="traces-scroll" ref={box} role="rowgroup" tabIndex={-1} onScroll={(event) => setTop(event.currentTarget.scrollTop)} onKeyDown={onKeyDown}>
        <div role="presentation" style={{ height: first * ROW }} />
        {sorted.slice(first, last).map((t, offset) => {
          const index = first + offset
          return (
            <div key={t.trace_id} role="row" aria-rowindex={index + 2} className="traces-row">
              <div role="cell" className="c-pick"><input type="checkbox" aria-label={`Compare ${t.service} ${t.name} of ${clockTime(t.start_ns)}`} title="Select two traces to compare them" tabIndex={picked.includes(t.trace_id) ? 0 : -1} checked={picked.includes(t.trace_id)} onChange={(event) => onPick(t.trace_id, event.target.checked)} /></div>
              <div role="cell" className="c-start num" title={instantTitle(t.start_ns)}><span className="muted wide-only">{date(t.start_ns).slice(5)} </span>{clockTime(t.start_ns)}</div>
              <div role="cell" className="c-name">
                <span className="swatch" style={{ background: serviceColour(t.service, theme) }} />
                <a
                  href={`/trace/${t.trace_id}`}
                  data-row={index}
                  tabIndex={index === Math.min(Math.max(current, first), last - 1) ? 0 : -1}
                  onClick={followInPage}
                  onFocus={() => setCurrent(index)}
                >
                  <strong>{t.service}</strong> {t.name}
                </a>
                {!t.complete && <span className="tag" title="Parts of this trace are missing">incomplete</span>}
              </div>
              <div role="cell" className="c-duration num right" title={exactNs(t.duration_ns)}>{duration(t.duration_ns)}</div>
              <div role="cell" className="c-bar"><span className="bar" style={{ width: `${(t.duration_ns / longest) * 100}%`, background: serviceColour(t.service, theme) }} /></div>
              <div role="cell" className="c-spans num right">{grouped(t.spans)}</div>
              <div role="cell" className={`c-errors num right ${t.errors ? 'bad' : 'muted'}`}>{t.errors ? `▲ ${grouped(t.errors)}` : '0'}</div>
            </div>
          )
        })}
        <div role="presentation" style={{ height: Math.max(0, (sorted.length - last) * ROW) }} />
        <div role="row" className="traces-foot"><div role="cell">{footer}</div></div>
      </div>
    </div>
  )
}
