import { useEffect, useMemo, useRef } from 'react'
import { saveCsv, savePng } from '../parts/canvas'
import { count, duration, exactNs, percent } from '../parts/format'
import { Icon } from '../parts/Icon'
import { EmptyState, ErrorState, Skeleton } from '../parts/states'
import { VERDICTS, verdictWords } from '../parts/verdict'
import { VerdictChip, VerdictTotals } from '../parts/VerdictParts'
import { useVirtualRows } from '../parts/virtual_rows'
import { WhatIfBox } from '../path/WhatIfBox'
import { setParams } from '../shell/router'
import { pathParts, verdictAt, type PathModel } from './path_model'
import { PathPlaces } from './PathPlaces'
import { PathStrip } from './PathStrip'
import type { PathState } from './path_state'
import type { Waterfall } from './waterfall_model'

const ROW = 28

interface Props {
  w: Waterfall
  state: PathState
  from: string | null
  to: string | null
  whatIf: string[]
  selected: number
  onSelect: (block: number) => void
}

// The critical path as a strip from start to end, and as a table of segments.
export function PathView({ w, state, from, to, whatIf, selected, onSelect }: Props) {
  const path = state.data
  const suggestions = useMemo(() => (path ? suggest(path) : []), [path])
  return (
    <div className="path-view">
      <div className="path-controls">
        <PathPlaces w={w} from={from} to={to} />
        <span className="spring" />
        <WhatIfBox changes={whatIf} suggestions={suggestions} nowNs={path ? path.to - path.from : 0} then={path?.whatIf ?? null} subject="it" />
      </div>
      {state.error && (
        <ErrorState error={state.error} onRetry={state.retry}>
          {(from || to) && <button type="button" className="button" onClick={() => setParams({ from: null, to: null })}>Show the whole request</button>}
          {whatIf.length > 0 && <button type="button" className="button" onClick={() => setParams({ what_if: null })}>Remove the what-if</button>}
        </ErrorState>
      )}
      {!path && state.loading && !state.error && <Skeleton rows={8} label="Finding the critical path" />}
      {path && path.count === 0 && (
        <EmptyState title="No time passed here.">
          <p>The path starts and ends at the same instant. <button type="button" className="link-button" onClick={() => setParams({ from: null, to: null })}>Show the whole request</button></p>
        </EmptyState>
      )}
      {path && path.count > 0 && <Segments w={w} path={path} selected={selected} onSelect={onSelect} />}
    </div>
  )
}

function suggest(path: PathModel): string[] {
  const parts = pathParts(path).slice(0, 12)
  const services = [...new Set(parts.map((p) => p.service))].map((s) => `service/${s}=0.5x`)
  const operations = [...new Set(parts.map((p) => p.name))].map((n) => `operation/${n}=0.5x`)
  const types = VERDICTS.filter((v) => path.totals[v] > 0).map((v) => `type/${v}=0.5x`)
  return [...services, ...operations, ...types]
}

function Segments({ w, path, selected, onSelect }: { w: Waterfall; path: PathModel; selected: number; onSelect: (block: number) => void }) {
  const canvas = useRef<HTMLCanvasElement>(null)
  const rows = useVirtualRows(path.count, ROW)
  const whole = path.to - path.from
  const longest = useMemo(() => path.length.reduce((m, v) => Math.max(m, v), 1), [path])
  const choose = (segment: number) => {
    if (path.block[segment]! >= 0) onSelect(path.block[segment]!)
  }
  // Scrolls to a span that was selected elsewhere, by link or in the answer.
  const { reveal } = rows
  useEffect(() => {
    if (selected >= 0 && path.first[selected + 1]! > path.first[selected]!) reveal(path.order[path.first[selected]!]!)
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [selected, path])
  const onCsv = () =>
    saveCsv(
      [
        ['after_ns', 'duration_ns', 'category', 'service', 'name', 'span_id', 'alternatives'],
        ...Array.from({ length: path.count }, (_, i) => [path.start[i]! - path.from, path.length[i]!, verdictAt(path, i), path.service[i]!, path.name[i]!, path.spanId[i]!, (path.alternatives[i] ?? []).join(' ')]),
      ],
      `critical-path-${w.traceId}.csv`,
    )
  const nameOf = (id: string) => {
    const block = w.spanId.indexOf(id)
    return block < 0 ? id : `${w.strings[w.service[block]!]} ${w.strings[w.name[block]!]}`
  }
  return (
    <>
      <div className="path-head">
        <VerdictTotals totals={path.totals} whole={whole} />
        <span className="spring" />
        <button type="button" className="icon-button" aria-label="Save the strip as PNG" title="Save the strip as PNG" onClick={() => canvas.current && savePng(canvas.current, 'Critical path', `critical-path-${w.traceId}.png`)}><Icon name="image" /></button>
        <button type="button" className="button quiet" onClick={onCsv}><Icon name="download" size={14} /> CSV</button>
      </div>
      <PathStrip path={path} origin={path.from} selected={selected} onSelect={choose} canvasRef={canvas} />
      <div className="segments" role="table" aria-label="Segments of the critical path" aria-rowcount={path.count + 1}>
        <div role="rowgroup">
          <div className="segments-row segments-head" role="row">
            <div role="columnheader" className="right">Start</div>
            <div role="columnheader" className="right">Duration</div>
            <div role="columnheader" className="right">Share</div>
            <div role="columnheader" className="s-bar"><span className="sr-only">Share as a bar</span></div>
            <div role="columnheader">Kind</div>
            <div role="columnheader">Step</div>
            <div role="columnheader" className="s-alt" title="Other steps that ended in time and may be what was waited for">Or waited for</div>
          </div>
        </div>
        <div className="segments-scroll" role="rowgroup" ref={rows.box} onScroll={rows.onScroll}>
          <div role="presentation" style={{ height: rows.above }} />
          {Array.from({ length: Math.max(0, rows.last - rows.first) }, (_, k) => {
            const i = rows.first + k
            const verdict = verdictAt(path, i)
            const alternatives = path.alternatives[i] ?? []
            return (
              <div key={i} role="row" aria-rowindex={i + 2} className={`segments-row ${path.block[i] === selected && selected >= 0 ? 'current' : ''}`}>
                <div role="cell" className="num right" title={exactNs(path.start[i]! - path.from)}>{duration(path.start[i]! - path.from)}</div>
                <div role="cell" className="num right" title={exactNs(path.length[i]!)}>{duration(path.length[i]!)}</div>
                <div role="cell" className="num right">{percent(path.length[i]!, whole)}</div>
                <div role="cell" className="s-bar"><span className={`bar verdict-${verdict}`} title={verdictWords(verdict)} style={{ width: `${(path.length[i]! / longest) * 100}%` }} /></div>
                <div role="cell"><VerdictChip verdict={verdict} /></div>
                <div role="cell" className="s-step">
                  <button type="button" className="link-button plain-text" onClick={() => choose(i)} title={`${path.service[i]} ${path.name[i]}`}><strong>{path.service[i]}</strong> {path.name[i]}</button>
                </div>
                <div role="cell" className="s-alt muted" title={alternatives.map(nameOf).join(', ')}>{alternatives.length > 0 && `${nameOf(alternatives[0]!)}${alternatives.length > 1 ? ` +${alternatives.length - 1}` : ''}`}</div>
              </div>
            )
          })}
          <div role="presentation" style={{ height: rows.below }} />
        </div>
      </div>
      <p className="path-foot muted">{count(path.count, 'segment')}, without gaps or overlaps.{!path.complete && ' Parts of this trace are missing, so the path may change.'}</p>
    </>
  )
}
