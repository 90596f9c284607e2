import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react'
import { getWaterfall, traceJsonUrl } from '../api/client'
import { useAnswer } from '../api/use_answer'
import { savePng } from '../parts/canvas'
import { learnServices } from '../parts/colours'
import { count, dateTime, duration, exactNs, grouped, instantTitle } from '../parts/format'
import { Icon } from '../parts/Icon'
import { CopyButton, EmptyState, ErrorState, Skeleton } from '../parts/states'
import { rememberTrace } from '../shell/recent'
import { followInPage, setParams, useRoute } from '../shell/router'
import { howLarge, whatItWas } from './answer_sentence'
import { Banner } from './Banner'
import { KeyboardHelp } from './KeyboardHelp'
import { OperationTable } from './OperationTable'
import { SpanPanel } from './SpanPanel'
import { useTraceKeys } from './trace_keys'
import { Waterfall, type WaterfallHandle } from './Waterfall'
import { decodeWaterfall, findBlocks, hasChildren, visibleRows, type Clock, type Range, type Waterfall as Model } from './waterfall_model'

export function TraceView({ id }: { id: string }) {
  const [again, setAgain] = useState(0)
  const { data, error, loading } = useAnswer(`trace ${id}`, again, async (signal) => {
    const w = decodeWaterfall(await getWaterfall(id, signal))
    learnServices(w.services)
    return w
  })
  useEffect(() => {
    if (!data) return
    const what = whatItWas(data)
    document.title = `${what.took} ${what.service} ${what.name} · wherefore`
    rememberTrace({ id: data.traceId, label: `${what.service} ${what.name}`, took: what.took })
  }, [data])
  if (data) return <LoadedTrace key={data.traceId} w={data} reload={() => setAgain((n) => n + 1)} />
  if (error) {
    return (
      <ErrorState error={error} onRetry={() => setAgain((n) => n + 1)}>
        <a className="button" href="/search" onClick={followInPage}>Search traces</a>
      </ErrorState>
    )
  }
  return loading ? <Skeleton rows={16} label="Loading the trace" /> : null
}

const parseRange = (text: string | null): Range | null => {
  const match = /^(-?\d+)-(\d+)$/.exec(text ?? '')
  return match && Number(match[2]) > Number(match[1]) ? { from: Number(match[1]), to: Number(match[2]) } : null
}

// Folded spans travel in the URL by id as long as it stays a URL one can paste.
const MAX_FOLDED_IN_URL = 40

function LoadedTrace({ w, reload }: { w: Model; reload: () => void }) {
  const { params } = useRoute()
  const clock: Clock = params.get('clock') === 'raw' ? 'raw' : 'aligned'
  const view = params.get('view') === 'table' ? 'table' : 'waterfall'
  const spanId = params.get('span')
  const find = params.get('find') ?? ''
  // A walk over the ids takes less time than building a map of them would, and is rare.
  const selected = useMemo(() => (spanId ? w.spanId.indexOf(spanId) : -1), [w, spanId])
  const waterfall = useRef<WaterfallHandle>(null)
  const findInput = useRef<HTMLInputElement>(null)
  const [help, setHelp] = useState(false)
  const [folded, setFolded] = useState<ReadonlySet<number>>(() => foldedFromUrl(params.get('fold'), w))
  const rows = useMemo(() => visibleRows(w, folded), [w, folded])
  const match = useMemo(() => (find ? findBlocks(w, find) : null), [w, find])
  const what = whatItWas(w)

  const changeFolds = useCallback(
    (next: ReadonlySet<number>) => {
      setFolded(next)
      const all = next.size > MAX_FOLDED_IN_URL
      setParams({ fold: next.size === 0 ? null : all ? 'all' : [...next].map((i) => w.spanId[i]).join(',') })
    },
    [w],
  )
  const select = useCallback(
    (block: number) => {
      setParams({ span: block < 0 ? null : w.spanId[block]! })
      if (block < 0) return
      // A selected span is always visible: unfold what hides it.
      let hides = false
      for (let p = w.parent[block]!; p >= 0; p = w.parent[p]!) hides ||= folded.has(p)
      if (hides) {
        const next = new Set(folded)
        for (let p = w.parent[block]!; p >= 0; p = w.parent[p]!) next.delete(p)
        changeFolds(next)
      }
    },
    [w, folded, changeFolds],
  )
  const toggle = useCallback(
    (block: number) => {
      if (!hasChildren(w, block)) return
      const next = new Set(folded)
      if (!next.delete(block)) next.add(block)
      changeFolds(next)
    },
    [w, folded, changeFolds],
  )
  const foldAll = () => {
    const next = new Set<number>()
    for (let i = 0; i < w.count; i++) if (hasChildren(w, i) && w.parent[i]! >= 0) next.add(i)
    changeFolds(next)
  }

  // The URL follows the range a moment later: History is too slow (and rate-limited) for every wheel tick.
  const timer = useRef(0)
  const onRange = useCallback((range: Range | null) => {
    clearTimeout(timer.current)
    timer.current = window.setTimeout(
      () => setParams({ t: range ? `${Math.round(range.from)}-${Math.round(range.to)}` : null }),
      200,
    )
  }, [])
  useEffect(() => () => clearTimeout(timer.current), [])

  useLayoutEffect(() => {
    if (selected >= 0) waterfall.current?.reveal(selected, 'centre')
    waterfall.current?.focus()
    // Only when the trace appears: later moves scroll as little as possible.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [])
  useEffect(() => {
    waterfall.current?.reveal(selected)
  }, [selected, rows])

  const nextOf = (blocks: ArrayLike<number>, step: 1 | -1) => {
    if (blocks.length === 0) return
    let at = step > 0 ? 0 : blocks.length - 1
    if (step > 0) while (at < blocks.length && blocks[at]! <= selected) at++
    else while (at >= 0 && blocks[at]! >= selected && selected >= 0) at--
    select(blocks[(at + blocks.length) % blocks.length]!)
  }
  const errorBlocks = () => {
    const out: number[] = []
    for (let i = 0; i < w.count; i++) if (w.status[i] === 2) out.push(i)
    return out
  }
  const setClock = (next: Clock) => setParams({ clock: next === 'raw' ? 'raw' : null })

  useTraceKeys({
    w, rows, selected, folded, waterfall, select, toggle,
    nextMatch: (step) => match && nextOf(match.blocks, step),
    nextError: () => nextOf(errorBlocks(), 1),
    mostOwn: () => select(w.mostOwn),
    switchClock: () => setClock(clock === 'raw' ? 'aligned' : 'raw'),
    setView: (next) => setParams({ view: next === 'table' ? 'table' : null }),
    find: () => findInput.current?.focus(),
    help: () => setHelp(true),
  })

  if (w.count === 0) {
    return (
      <EmptyState title="This trace has no spans yet.">
        <p>Its events arrived without any block. <button type="button" className="link-button" onClick={reload}>Load again</button></p>
      </EmptyState>
    )
  }
  const position = match && selected >= 0 ? match.blocks.indexOf(selected) + 1 : 0
  return (
    <div className="trace">
      <header className="answer">
        <h1 title={exactNs(what.tookNs)}>
          {what.rootMissing ? (
            <>
              A request took <strong>{what.took}</strong>
              <span className="thin muted">; its root is missing, first seen: {what.service} {what.name}</span>
            </>
          ) : (
            <>
              {what.service} <span className="thin">{what.name}</span> took <strong>{what.took}</strong>
            </>
          )}
        </h1>
        <p className="facts-line">
          <button type="button" className="link-button strong" onClick={() => select(w.mostOwn)} title="Select it (M)">
            Most own time: {w.strings[w.service[w.mostOwn]!]} {w.strings[w.name[w.mostOwn]!]} {duration(w.own[w.mostOwn]!)} of {what.took}
          </button>
          <span className="dot" />
          {howLarge(w)}
          <span className="dot" />
          {w.errors > 0 ? (
            <button type="button" className="link-button bad" onClick={() => nextOf(errorBlocks(), 1)} title="Next error (E)">
              ▲ {count(w.errors, 'error')}
            </button>
          ) : 'no errors'}
          <span className="dot" />
          <span className="num" title={instantTitle(w.startNs)}>{dateTime(w.startNs)}</span>
          <span className="mono muted trace-id"><span className="dot" />{w.traceId}</span>
          <CopyButton text={w.traceId} label="Copy the trace id" />
        </p>
      </header>
      <Banner w={w} onReload={reload} onSelect={(id) => select(w.spanId.indexOf(id))} />
      <div className="toolbar" role="toolbar" aria-label="Trace">
        <div className="find">
          <Icon name="search" size={14} />
          <input
            ref={findInput}
            type="search"
            value={find}
            placeholder="Find in this trace"
            aria-label="Find in this trace"
            onChange={(event) => setParams({ find: event.target.value })}
            onKeyDown={(event) => {
              event.stopPropagation()
              if (event.key === 'Enter' && match) nextOf(match.blocks, event.shiftKey ? -1 : 1)
              if (event.key === 'Escape') {
                if (find) setParams({ find: null })
                waterfall.current?.focus()
              }
            }}
          />
          {match ? (
            <>
              <span className={`num small ${match.blocks.length ? 'muted' : 'bad'}`} role="status">
                {match.blocks.length === 0 ? 'no match' : `${position || '–'}/${grouped(match.blocks.length)}`}
              </span>
              <button type="button" className="icon-button small" aria-label="Previous match" title="Previous match (Shift+N)" onClick={() => nextOf(match.blocks, -1)}><Icon name="up" size={12} /></button>
              <button type="button" className="icon-button small" aria-label="Next match" title="Next match (N)" onClick={() => nextOf(match.blocks, 1)}><Icon name="down" size={12} /></button>
            </>
          ) : <kbd>/</kbd>}
        </div>
        <div className="segmented" role="group" aria-label="View">
          <button type="button" aria-pressed={view === 'waterfall'} onClick={() => setParams({ view: null })}><Icon name="trace" size={14} /> Waterfall</button>
          <button type="button" aria-pressed={view === 'table'} onClick={() => setParams({ view: 'table' })}><Icon name="table" size={14} /> Table</button>
        </div>
        <div className="segmented" role="group" aria-label="Clock" title={w.clocks.length === 0 ? 'All spans share one clock: nothing was moved' : `Clocks of ${count(w.clocks.length, 'host window')} aligned from causal edges`}>
          <button type="button" aria-pressed={clock === 'aligned'} onClick={() => setClock('aligned')}>
            Aligned{w.clockErrorNs > 0 && <span className="muted"> ± {duration(w.clockErrorNs)}</span>}
          </button>
          <button type="button" aria-pressed={clock === 'raw'} onClick={() => setClock('raw')}>Raw</button>
        </div>
        <span className="spring" />
        {view === 'waterfall' && (
          <div className="tools">
            <button type="button" className="button quiet" onClick={() => (folded.size ? changeFolds(new Set()) : foldAll())}>
              {folded.size ? 'Unfold all' : 'Fold all'}
            </button>
            <button type="button" className="icon-button" aria-label="Zoom out" title="Zoom out (S)" onClick={() => waterfall.current?.zoom(1.6)}><Icon name="minus" /></button>
            <button type="button" className="icon-button" aria-label="Zoom in" title="Zoom in (W)" onClick={() => waterfall.current?.zoom(1 / 1.6)}><Icon name="plus" /></button>
            <button type="button" className="icon-button" aria-label="Show the whole trace" title="Show the whole trace (0)" onClick={() => waterfall.current?.reset()}><Icon name="reset" /></button>
            <button type="button" className="icon-button" aria-label="Save as PNG" title="Save as PNG" onClick={() => { const image = waterfall.current?.image(); if (image) savePng(image, `${what.service} ${what.name} took ${what.took}`, `trace-${w.traceId}.png`) }}><Icon name="image" /></button>
          </div>
        )}
        <a className="button quiet" href={traceJsonUrl(w.traceId, clock)} download={`trace-${w.traceId}.json`}><Icon name="download" size={14} /> JSON</a>
        <button type="button" className="icon-button" aria-label="Keyboard help" title="Keyboard (?)" onClick={() => setHelp(true)}><Icon name="keyboard" /></button>
      </div>
      <div className={`trace-body ${selected >= 0 ? 'with-panel' : ''}`}>
        {view === 'waterfall' ? (
          <Waterfall
            ref={waterfall} w={w} rows={rows} folded={folded} clock={clock} selected={selected}
            matches={match?.isMatch ?? null} initialRange={parseRange(params.get('t'))}
            onRange={onRange} onSelect={select} onToggle={toggle}
          />
        ) : (
          <OperationTable w={w} onSelect={select} />
        )}
        {selected >= 0 && (
          <SpanPanel w={w} block={selected} clock={clock} onClose={() => select(-1)} onZoom={() => waterfall.current?.zoomTo(selected)} onSelect={select} />
        )}
      </div>
      {help && <KeyboardHelp onClose={() => setHelp(false)} />}
    </div>
  )
}

function foldedFromUrl(text: string | null, w: Model): ReadonlySet<number> {
  const out = new Set<number>()
  if (text === 'all') {
    for (let i = 0; i < w.count; i++) if (hasChildren(w, i) && w.parent[i]! >= 0) out.add(i)
  } else {
    for (const id of text?.split(',') ?? []) {
      const i = w.spanId.indexOf(id)
      if (i >= 0) out.add(i)
    }
  }
  return out
}
