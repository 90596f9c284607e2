import { useEffect, useMemo, useRef, useState } from 'react'
import { getWaterfall } from '../api/client'
import { useAnswer, type Answer } from '../api/use_answer'
import { saveCsv, sizeCanvas, useSize } from '../parts/canvas'
import { coloursVersion, registerServices, readCanvasColours, serviceColour } from '../parts/colours'
import { count, dateTime, duration, exactNs, grouped, percent } from '../parts/format'
import { Icon } from '../parts/Icon'
import { ErrorState, Skeleton } from '../parts/states'
import { useVirtualRows } from '../parts/virtual_rows'
import { recentTraces } from '../shell/recent'
import { followInPage, navigate, useRoute } from '../shell/router'
import { traceIdOf } from '../shell/trace_id'
import { useTheme } from '../shell/theme'
import { describeSize, describeRequest } from '../trace/answer_sentence'
import { paintOverview, paintRuler } from '../trace/overview_painter'
import { decodeWaterfall, wholeRange, type Waterfall } from '../trace/waterfall_model'
import { compareOperations, type OperationDifference } from './operation_differences'

const idOf = (text: string | null) => traceIdOf(text ?? '')

// Two traces: which operations spent more or less own time.
export function TwoTracesView() {
  const { params } = useRoute()
  const a = idOf(params.get('a'))
  const b = idOf(params.get('b'))
  useEffect(() => {
    document.title = 'Compare traces · wherefore'
  }, [])
  if (!a || !b) return <ChooseTraces a={params.get('a') ?? ''} b={params.get('b') ?? ''} />
  return <Both key={`${a} ${b}`} a={a} b={b} />
}

function useWaterfall(id: string, reloads: number): Answer<Waterfall> {
  return useAnswer(`trace ${id}`, reloads, async (signal) => {
    const w = decodeWaterfall(await getWaterfall(id, signal))
    registerServices(w.services)
    return w
  })
}

function Both({ a, b }: { a: string; b: string }) {
  const [reloads, setReloads] = useState(0)
  const first = useWaterfall(a, reloads)
  const second = useWaterfall(b, reloads)
  const error = first.error ?? second.error
  if (error) {
    return (
      <ErrorState error={error} onRetry={() => setReloads((n) => n + 1)}>
        <button type="button" className="button" onClick={() => navigate(first.error ? `/compare/traces?b=${b}` : `/compare/traces?a=${a}`)}>Choose another trace</button>
      </ErrorState>
    )
  }
  if (!first.data || !second.data) return <Skeleton rows={12} label="Loading both traces" />
  return <Loaded a={first.data} b={second.data} />
}

function Loaded({ a, b }: { a: Waterfall; b: Waterfall }) {
  const rows = useMemo(() => compareOperations(a, b), [a, b])
  const was = describeRequest(a)
  const is = describeRequest(b)
  const more = is.tookNs - was.tookNs
  const longest = Math.max(a.times.aligned.to - a.times.aligned.from, b.times.aligned.to - b.times.aligned.from)
  const top = rows[0]
  return (
    <div className="two-traces">
      <header className="answer">
        <h1 title={exactNs(Math.abs(more))}>
          {more === 0 ? (
            <>Both took <strong>{is.took}</strong></>
          ) : (
            <>
              B took <strong>{duration(Math.abs(more))} {more > 0 ? 'longer' : 'less'}</strong> than A
              <span className="thin"> ({is.took} against {was.took}{ratio(was.tookNs, is.tookNs)})</span>
            </>
          )}
        </h1>
        <p>
          {top && top.difference !== 0 ? (
            <>
              Most of the difference in own time: <strong>{top.service} {top.name}</strong>, {signed(top.difference)}
              {(top.a === null || top.b === null) && ` (only in ${top.a === null ? 'B' : 'A'})`}.
            </>
          ) : 'No operation differs in its own time.'}{' '}
          {was.service !== is.service || was.name !== is.name ? 'The two are different operations.' : ''}
        </p>
      </header>
      <div className="two-sides">
        <Side letter="A" w={a} longest={longest} />
        <Side letter="B" w={b} longest={longest} />
      </div>
      <Differences a={a} b={b} rows={rows} />
    </div>
  )
}

// ", +12 %", or ", 3.4 times as long" from twice as long on.
function ratio(was: number, is: number): string {
  if (was <= 0) return ''
  if (is >= 2 * was) return `, ${is >= 10 * was ? Math.round(is / was) : (is / was).toFixed(1)} times as long`
  return `, ${is > was ? '+' : '−'}${percent(Math.abs(is - was), was)}`
}

const signed = (ns: number): string => (ns > 0 ? `+${duration(ns)}` : duration(ns))

// Both strips have the scale of the longer trace.
function Side({ letter, w, longest }: { letter: string; w: Waterfall; longest: number }) {
  const theme = useTheme()
  const box = useRef<HTMLDivElement>(null)
  const canvas = useRef<HTMLCanvasElement>(null)
  const { width } = useSize(box)
  const what = describeRequest(w)
  useEffect(() => {
    if (!canvas.current || width === 0) return
    const colours = readCanvasColours(theme)
    const ctx = sizeCanvas(canvas.current, width, 62)
    ctx.fillStyle = colours.background
    ctx.fillRect(0, 0, width, 62)
    // The overview has a margin around the trace.
    const { from, to } = wholeRange(w, 'aligned')
    const perNs = width / longest
    const share = Math.max(1, (to - from) * perNs)
    ctx.drawImage(paintOverview(w, 'aligned', theme, share, 40, window.devicePixelRatio || 1), (from - w.times.aligned.from) * perNs, 22, share, 40)
    paintRuler(ctx, colours, 0, width, 22, 0, longest, 0, null)
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [w, width, theme, longest, coloursVersion()])
  return (
    <section className="two-side" aria-label={`Trace ${letter}`}>
      <h2><span className="two-letter">{letter}</span><a href={`/trace/${w.traceId}`} onClick={followInPage}>{what.service} {what.name}</a></h2>
      <p className="muted">
        <strong className="num">{what.took}</strong> · {describeSize(w)} · {w.errors > 0 ? <span className="bad">▲ {count(w.errors, 'error')}</span> : 'no errors'}{!w.complete && ' · incomplete'} · <span className="num">{dateTime(w.startNs)}</span>
      </p>
      <div ref={box}><canvas ref={canvas} aria-hidden="true" /></div>
    </section>
  )
}

const ROW = 28

function Differences({ a, b, rows }: { a: Waterfall; b: Waterfall; rows: OperationDifference[] }) {
  const theme = useTheme()
  const list = useVirtualRows(rows.length, ROW)
  const largest = Math.max(1, Math.abs(rows[0]?.difference ?? 1))
  const link = (w: Waterfall, block: number) => `/trace/${w.traceId}?span=${w.spanId[block]}`
  const own = (w: Waterfall, side: OperationDifference['a']) =>
    side ? <a href={link(w, side.example)} onClick={followInPage} title={`${exactNs(side.own)}; opens the span with the most own time`}>{duration(side.own)}</a> : <span className="muted">–</span>
  return (
    <div className="components" role="table" aria-label="Operations by difference in own time" aria-rowcount={rows.length + 1}>
      <div role="rowgroup">
        <div className="two-row components-head" role="row">
          <div role="columnheader">Service and operation</div>
          <div role="columnheader" className="right">Own in A</div>
          <div role="columnheader" className="right">Own in B</div>
          <div role="columnheader" className="right">Difference</div>
          <div role="columnheader" className="c-wide"><span className="sr-only">Difference as a bar</span></div>
          <div role="columnheader" className="right c-wide">Spans in A</div>
          <div role="columnheader" className="right c-wide">Spans in B</div>
        </div>
      </div>
      <div className="components-scroll" role="rowgroup" ref={list.box} onScroll={list.onScroll}>
        <div role="presentation" style={{ height: list.above }} />
        {rows.slice(list.first, list.last).map((r, k) => (
          <div key={`${r.service} ${r.name}`} role="row" aria-rowindex={list.first + k + 2} className="two-row">
            <div role="cell" className="s-step" title={`${r.service} ${r.name}`}><span className="swatch" style={{ background: serviceColour(r.service, theme) }} /> <strong>{r.service}</strong> {r.name}</div>
            <div role="cell" className="num right">{own(a, r.a)}</div>
            <div role="cell" className="num right">{own(b, r.b)}</div>
            <div role="cell" className="num right" title={exactNs(r.difference)}>{r.difference === 0 ? '0' : signed(r.difference)}</div>
            <div role="cell" className="c-wide"><div className="diff"><span className={r.difference >= 0 ? 'diff-more' : 'diff-less'} style={{ width: `${(Math.abs(r.difference) / largest) * 50}%` }} /></div></div>
            <div role="cell" className="num right c-wide">{grouped(r.a?.spans ?? 0)}</div>
            <div role="cell" className={`num right c-wide ${(r.a?.spans ?? 0) !== (r.b?.spans ?? 0) ? 'strong' : ''}`}>{grouped(r.b?.spans ?? 0)}</div>
          </div>
        ))}
        <div role="presentation" style={{ height: list.below }} />
        <div role="row" className="traces-foot"><div role="cell">
          <span className="row">
            <button type="button" className="button quiet" onClick={() => navigate(`/compare?a=${b.traceId}&b=${a.traceId}`)}>Swap A and B</button>
            <button type="button" className="button quiet" onClick={() => saveCsv([['service', 'name', 'own_a_ns', 'own_b_ns', 'difference_ns', 'spans_a', 'spans_b'], ...rows.map((r) => [r.service, r.name, r.a?.own ?? 0, r.b?.own ?? 0, r.difference, r.a?.spans ?? 0, r.b?.spans ?? 0])], 'compare.csv')}><Icon name="download" size={14} /> CSV</button>
          </span>
        </div></div>
      </div>
    </div>
  )
}

function ChooseTraces({ a, b }: { a: string; b: string }) {
  const [first, setFirst] = useState(a)
  const [second, setSecond] = useState(b)
  const recent = recentTraces()
  const ready = idOf(first.trim()) !== null && idOf(second.trim()) !== null
  const field = (label: string, value: string, set: (text: string) => void) => (
    <div className={`filter-box filter-${value === '' ? 'empty' : idOf(value.trim()) ? 'good' : 'bad'}`}>
      <span className="two-letter">{label}</span>
      <input className="mono" type="text" aria-label={`Id of trace ${label}`} aria-invalid={value !== '' && !idOf(value.trim())} list="recent-ids" placeholder="trace id" spellCheck={false} value={value} onChange={(event) => set(event.target.value)} />
    </div>
  )
  return (
    <div className="page">
      <header className="answer"><h1>Compare two traces</h1><p>Shows which operations spent more own time in one trace than in the other. <a href="/search" onClick={followInPage}>Search</a> and select two traces, or enter their ids.</p></header>
      <form className="two-forms" onSubmit={(event) => { event.preventDefault(); if (ready) navigate(`/compare?a=${idOf(first.trim())}&b=${idOf(second.trim())}`) }}>
        {field('A', first, setFirst)}
        {field('B', second, setSecond)}
        <datalist id="recent-ids">{recent.map((t) => <option key={t.id} value={t.id}>{`${t.label} ${t.took}`}</option>)}</datalist>
        <div><button type="submit" className="button primary" disabled={!ready}>Compare</button></div>
      </form>
    </div>
  )
}
