import { lazy, Suspense, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react'
import { getWaterfall } from '../api/client'
import { useAnswer } from '../api/use_answer'
import { registerServices } from '../parts/colours'
import { count, dateTime, duration, exactNs, instantTitle } from '../parts/format'
import { Icon } from '../parts/Icon'
import { CopyButton, EmptyState, ErrorState, Skeleton } from '../parts/states'
import { rememberTrace } from '../shell/recent'
import { followInPage, navigate, setParams, useRoute } from '../shell/router'
import { describeSize, describeRequest } from './answer_sentence'
import { Banner } from './Banner'
import { CompareWith } from './CompareWith'
import { KeyboardHelp } from './KeyboardHelp'
import { OperationTable } from './OperationTable'
import { PathAnswer } from './PathAnswer'
import { useCriticalPath } from './path_state'
import { SpanPanel } from './SpanPanel'
import { TRACE_VIEWS, useTraceKeys, type TraceViewName } from './trace_keys'
import { TraceToolbar } from './TraceToolbar'
import { groupingFrom, GROUPINGS, groupRows } from './unit_rows'
import { Waterfall, type WaterfallHandle } from './Waterfall'
import { canFold, decodeWaterfall, findBlocks, hasChildren, visibleRows, type Clock, type Range, type Waterfall as Model } from './waterfall_model'

const PathView = lazy(() => import('./PathView').then((m) => ({ default: m.PathView })))
const FlameView = lazy(() => import('../flame/FlameView').then((m) => ({ default: m.FlameView })))

export function TraceView({ id }: { id: string }) {
  const [reloads, setReloads] = useState(0)
  const { data, error, loading } = useAnswer(`trace ${id}`, reloads, async (signal) => {
    const w = decodeWaterfall(await getWaterfall(id, signal))
    registerServices(w.services)
    return w
  })
  useEffect(() => {
    if (!data) return
    const what = describeRequest(data)
    document.title = `${what.took} ${what.service} ${what.name} · wherefore`
    rememberTrace({ id: data.traceId, label: `${what.service} ${what.name}`, took: what.took })
  }, [data])
  if (data) return <LoadedTrace key={data.traceId} w={data} reload={() => setReloads((n) => n + 1)} />
  if (error) {
    return (
      <ErrorState error={error} onRetry={() => setReloads((n) => n + 1)}>
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

// The URL lists folded spans by id only up to this number, so that it stays short enough to paste.
const MAX_FOLDED_IN_URL = 40

function LoadedTrace({ w, reload }: { w: Model; reload: () => void }) {
  const { params } = useRoute()
  const clock: Clock = params.get('clock') === 'raw' ? 'raw' : 'aligned'
  const view = TRACE_VIEWS.find((name) => name === params.get('view')) ?? 'waterfall'
  const setView = (next: TraceViewName) => setParams({ view: next === 'waterfall' ? null : next })
  const grouping = groupingFrom(params.get('group'))
  const pathShown = params.get('path') !== 'off'
  const from = params.get('from')
  const to = params.get('to')
  const path = useCriticalPath(w, params, clock)
  const spanId = params.get('span')
  const find = params.get('find') ?? ''
  // A linear search: it is rare, and cheaper than building a map.
  const selected = useMemo(() => (spanId ? w.spanId.indexOf(spanId) : -1), [w, spanId])
  const waterfall = useRef<WaterfallHandle>(null)
  const findInput = useRef<HTMLInputElement>(null)
  const [help, setHelp] = useState(false)
  const [folded, setFolded] = useState<ReadonlySet<number>>(() => foldedFromUrl(params.get('fold'), w))
  const [comparing, setComparing] = useState(false)
  const shutText = params.get('shut') ?? ''
  const rows = useMemo(
    () => (grouping ? groupRows(w, folded, grouping, new Set(shutText.split(',').filter(Boolean).map(decodeURIComponent))) : visibleRows(w, folded)),
    [w, folded, grouping, shutText],
  )
  const match = useMemo(() => (find ? findBlocks(w, find) : null), [w, find])
  const what = describeRequest(w)

  const changeFolds = useCallback(
    (next: ReadonlySet<number>) => {
      setFolded(next)
      const all = next.size > MAX_FOLDED_IN_URL
      setParams({ fold: next.size === 0 ? null : all ? 'all' : [...next].map((i) => w.spanId[i]).join(',') })
    },
    [w],
  )
  const changeShut = useCallback(
    (key: string, shut: boolean) => {
      const keys = shutText.split(',').filter(Boolean).filter((k) => k !== encodeURIComponent(key))
      setParams({ shut: (shut ? [...keys, encodeURIComponent(key)] : keys).join(',') || null })
    },
    [shutText],
  )
  const select = useCallback(
    (block: number) => {
      setParams({ span: block < 0 ? null : w.spanId[block]! })
      if (block < 0) return
      const group = rows.groups.find((g) => g.shut && g.members.includes(block))
      if (group) changeShut(group.key, false)
      // Unfold what hides the selected span.
      let hides = false
      for (let p = w.parent[block]!; p >= 0; p = w.parent[p]!) hides ||= folded.has(p)
      if (hides) {
        const next = new Set(folded)
        for (let p = w.parent[block]!; p >= 0; p = w.parent[p]!) next.delete(p)
        changeFolds(next)
      }
    },
    [w, folded, rows, changeFolds, changeShut],
  )
  const toggle = useCallback(
    (block: number) => {
      if (!canFold(w, rows, block)) return
      const next = new Set(folded)
      if (!next.delete(block)) next.add(block)
      changeFolds(next)
    },
    [w, folded, rows, changeFolds],
  )
  const foldAll = () => {
    const next = new Set<number>()
    for (let i = 0; i < w.count; i++) if (hasChildren(w, i) && w.parent[i]! >= 0) next.add(i)
    changeFolds(next)
  }

  // The URL follows with a delay, because the History API is too slow (and rate-limited) for every wheel tick.
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
    // Only when the trace appears; later selections scroll as little as possible.
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
    setView,
    showPath: () => setParams({ path: pathShown ? 'off' : null }),
    pathFrom: () => setParams({ from: w.spanId[selected]! }),
    pathTo: () => setParams({ to: w.spanId[selected]! }),
    group: () => setParams({ group: grouping ? GROUPINGS[GROUPINGS.indexOf(grouping) + 1] ?? null : GROUPINGS[0], shut: null }),
    explain: () => navigate(`/explain/${w.traceId}`),
    find: () => findInput.current?.focus(),
    help: () => setHelp(true),
  })

  if (w.count === 0) {
    return (
      <EmptyState title="This trace has no spans yet.">
        <p>Events arrived, but no span among them. <button type="button" className="link-button" onClick={reload}>Reload</button></p>
      </EmptyState>
    )
  }
  const position = match && selected >= 0 ? match.blocks.indexOf(selected) + 1 : 0
  return (
    <div className="trace">
      <header className="answer">
        <div className="trace-title">
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
          <a className="button" href={`/explain/${w.traceId}`} title="Explain, including the work of other requests (X)" onClick={followInPage}><Icon name="why" size={14} /> What did it wait for?</a>
        </div>
        <PathAnswer w={w} state={path} from={from} to={to} onSelect={select} onOpen={() => setView('path')} />
        <p className="facts-line">
          <button type="button" className="link-button strong" onClick={() => select(w.mostOwn)} title="Select it (M)">
            Most own time: {w.strings[w.service[w.mostOwn]!]} {w.strings[w.name[w.mostOwn]!]} {duration(w.own[w.mostOwn]!)} of {what.took}
          </button>
          <span className="dot" />
          {describeSize(w)}
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
      <TraceToolbar
        w={w} view={view} clock={clock} find={find} match={match} position={position} findInput={findInput} waterfall={waterfall}
        folded={folded.size > 0} onFolds={() => (folded.size ? changeFolds(new Set()) : foldAll())}
        pathShown={pathShown} grouping={grouping} caption={`${what.service} ${what.name} took ${what.took}`}
        onNext={(step) => match && nextOf(match.blocks, step)} onView={setView} onHelp={() => setHelp(true)} onCompare={() => setComparing(true)}
      />
      <div className={`trace-body ${selected >= 0 ? 'with-panel' : ''}`}>
        {view === 'waterfall' ? (
          <Waterfall
            ref={waterfall} w={w} rows={rows} folded={folded} clock={clock} selected={selected}
            matches={match?.isMatch ?? null} path={pathShown ? path.data : null} initialRange={parseRange(params.get('t'))}
            onRange={onRange} onSelect={select} onToggle={toggle}
            onToggleGroup={(g) => changeShut(rows.groups[g]!.key, !rows.groups[g]!.shut)}
          />
        ) : view === 'table' ? (
          <OperationTable w={w} onSelect={select} />
        ) : (
          <Suspense fallback={<Skeleton rows={8} label="Loading the view" />}>
            {view === 'path' ? (
              <PathView w={w} state={path} from={from} to={to} whatIf={params.getAll('what_if')} selected={selected} onSelect={select} />
            ) : (
              <FlameView w={w} clock={clock} selected={selected} unitId={params.get('unit')} mode={params.get('flame')} frame={params.get('frame')} find={find} onSelect={select} />
            )}
          </Suspense>
        )}
        {selected >= 0 && (
          <SpanPanel w={w} path={path.data} block={selected} clock={clock} onClose={() => select(-1)} onZoom={() => waterfall.current?.zoomTo(selected)} onSelect={select} />
        )}
      </div>
      {comparing && <CompareWith traceId={w.traceId} service={what.service} name={what.name} onClose={() => setComparing(false)} />}
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
