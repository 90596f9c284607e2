import { useEffect, useMemo, useRef, useState } from 'react'
import { explainPath, getExplanation, getWaterfall, type ApiError } from '../api/client'
import { ns } from '../api/exact_json'
import type { ExplainAnswer } from '../api/types'
import { useAnswer } from '../api/use_answer'
import { saveCsv } from '../parts/canvas'
import { registerServices } from '../parts/colours'
import { count, duration, exactNs, grouped } from '../parts/format'
import { Icon } from '../parts/Icon'
import { CopyButton, EmptyState, ErrorState, Skeleton } from '../parts/states'
import { WhatIfBox } from '../path/WhatIfBox'
import { rangeFromParams, rangePhrase } from '../search/time_range'
import { TimeRangePicker } from '../search/TimeRangePicker'
import { followInPage, navigate, setParams, useRoute, withParams } from '../shell/router'
import { describeRequest } from '../trace/answer_sentence'
import { decodeWaterfall, type Waterfall } from '../trace/waterfall_model'
import { describeAssumptions, describeOmissions } from './assumptions'
import { changeOf, decodeExplanation, drawnPart, explainWhatIfProblem, isNegligible, unfold, type Explanation, type Vertex } from './explain_model'
import { commandFor, DEFAULT_SINCE, explainQuery, canExplain } from './explain_query'
import { ExplainGraph, type GraphHandle } from './ExplainGraph'
import { ExplainTable } from './ExplainTable'
import { PlaceChooser } from './PlaceChooser'
import { SlowestForm, TraceForm } from './SlowestForm'
import { VertexPanel } from './VertexPanel'

interface Loaded {
  answer: ExplainAnswer
  x: Explanation
}

// Explains one request (`id`), or the slowest requests of an operation.
export function ExplainView({ id }: { id: string }) {
  const { params } = useRoute()
  const [reloads, setReloads] = useState(0)
  const ready = canExplain(id, params)
  const query = explainQuery(id, params)
  const { data, error, loading } = useAnswer<Loaded | null>(ready ? `explain ${id} ${query}` : '', reloads, async (signal) => {
    if (!ready) return null
    const answer = await getExplanation(id, query, signal)
    const x = decodeExplanation(answer)
    registerServices(x.vertices.map((v) => v.node))
    return { answer, x }
  })
  const trace = useAnswer<Waterfall | null>(`explained ${id}`, 0, async (signal) => (id ? decodeWaterfall(await getWaterfall(id, signal)) : null))
  const sentence = data ? sentenceOf(data) : null
  useEffect(() => {
    document.title = `${sentence ?? 'Explain'} · wherefore`
  }, [sentence])
  const retry = () => setReloads((n) => n + 1)
  const range = rangeFromParams(params, DEFAULT_SINCE)
  return (
    <div className="explain">
      <header className="search-head">
        <div className="answer">
          <h1 className={loading && ready && !data ? 'muted' : ''}>{sentence ?? (!ready ? 'Why did it take that long?' : error ? 'Could not explain this' : 'Finding what it waited for…')}</h1>
          <div className="explain-facts">
            {id ? <Subject id={id} w={trace.data} data={data} /> : <ManySubject params={params} phrase={rangePhrase(range)} data={data} />}
            {data && <Notes data={data} />}
          </div>
        </div>
        {!id && <TimeRangePicker key={`${range.since} ${range.until}`} range={range} standard={DEFAULT_SINCE} />}
      </header>
      <div className="path-controls explain-controls">
        {id ? <><PlaceChooser w={trace.data} which="from" text={params.get('from')} /><PlaceChooser w={trace.data} which="to" text={params.get('to')} /></> : <SlowestForm params={params} />}
        {ready && <BaselineButton on={params.get('baseline') === 'true'} />}
        <span className="spring" />
        {ready && <WhatIf params={params} data={data} />}
      </div>
      {error && !data && <Failure error={error} params={params} id={id} retry={retry} />}
      {loading && ready && !data && !error && <Skeleton rows={10} label="Explaining" />}
      {!ready && (
        <div className="page">
          <p>Choose a service and an operation above to explain its slowest requests together.</p>
          <TraceForm />
        </div>
      )}
      {data && data.x.vertices.length === 0 && (
        <EmptyState title="Nothing to explain.">
          <p>No time passed between the two places, or no such request is stored in this time range.</p>
          {!id && range.since !== 'all' && <button type="button" className="button" onClick={() => setParams({ since: 'all', until: null }, 'push')}>All time</button>}
        </EmptyState>
      )}
      {data && data.x.vertices.length > 0 && <Evidence key={`${id} ${query}`} id={id} query={query} data={data} params={params} sentence={sentence!} />}
    </div>
  )
}

const sentenceOf = ({ answer, x }: Loaded): string => answer.sentence || `Where ${duration(x.delay)} went`

function Subject({ id, w, data }: { id: string; w: Waterfall | null; data: Loaded | null }) {
  const what = w && w.count > 0 ? describeRequest(w) : null
  return (
    <p className="facts-line">
      {what && <><span>{what.service} {what.name} took {what.took}</span><span className="dot" /></>}
      <a href={`/trace/${id}`} onClick={followInPage}>Open trace</a>
      <CopyButton text={id} label="Copy the trace id" />
      {data && <><span className="dot" /><Sizes data={data} /></>}
    </p>
  )
}

function ManySubject({ params, phrase, data }: { params: URLSearchParams; phrase: string; data: Loaded | null }) {
  if (!params.has('service')) return null
  return (
    <p className="facts-line">
      <span>{data?.answer.requests ? `Slowest ${count(data.answer.requests.length, 'request')}` : 'Slowest requests'} of <strong>{params.get('service')} {params.get('operation')}</strong> {phrase}</span>
      {data && <><span className="dot" /><Sizes data={data} /></>}
      {data?.answer.requests && data.answer.requests.length > 0 && <><span className="dot" /><a href={`/explain/${data.answer.requests[0]}`} onClick={followInPage}>Only the slowest</a></>}
    </p>
  )
}

function Sizes({ data: { answer, x } }: { data: Loaded }) {
  const off = x.vertices.filter((v) => !v.functional && v.delay > 0)
  const others = off.reduce((s, v) => s + v.count, 0)
  return (
    <span title={answer.sizes && `${count(answer.sizes.raw, 'event')} examined, ${grouped(answer.sizes.nonzero)} contributed`}>
      {count(x.vertices.length, 'step')}, {others === 0 ? 'no wait for other work' : `waited for ${count(others, 'piece')} of other work`}
      {answer.baseline && `; usual p50 ${duration(Number(ns(answer.baseline.median_ns)))} over ${count(answer.baseline.requests, 'request')}`}
    </span>
  )
}

function BaselineButton({ on }: { on: boolean }) {
  return (
    <button type="button" className="button" aria-pressed={on} title="Show how long the same steps usually take in this operation" onClick={() => setParams({ baseline: on ? null : 'true' })}>
      <Icon name={on ? 'check' : 'compare'} size={14} /> Compare with usual
    </button>
  )
}

function WhatIf({ params, data }: { params: URLSearchParams; data: Loaded | null }) {
  const suggestions = useMemo(() => {
    if (!data) return []
    const largest = [...data.x.vertices].sort((a, b) => b.own - a.own).slice(0, 12)
    return [...new Set(largest.flatMap((v) => [changeOf(v), `${v.node}/*=0.5x`]))]
  }, [data])
  return <WhatIfBox changes={params.getAll('what_if')} suggestions={suggestions} nowNs={data?.x.delay ?? 0} then={data?.x.whatIf ?? null} subject="it" problemOf={explainWhatIfProblem} placeholder="storage/scan=0.5x" />
}

function Failure({ error, params, id, retry }: { error: ApiError; params: URLSearchParams; id: string; retry: () => void }) {
  return (
    <ErrorState error={error} onRetry={retry}>
      {(params.has('from') || params.has('to')) && <button type="button" className="button" onClick={() => setParams({ from: null, to: null })}>Show the whole request</button>}
      {params.has('what_if') && <button type="button" className="button" onClick={() => setParams({ what_if: null })}>Remove the what-if</button>}
      {id && <a className="button" href={`/trace/${id}`} onClick={followInPage}>Open trace</a>}
    </ErrorState>
  )
}

function Evidence({ id, query, data, params, sentence }: { id: string; query: URLSearchParams; data: Loaded; params: URLSearchParams; sentence: string }) {
  const graph = useRef<GraphHandle>(null)
  const table = params.get('view') === 'table'
  const all = params.get('all') === '1'
  const selected = params.get('sel')
  const openText = params.get('open') ?? ''
  const open = useMemo(() => new Set(openText.split(',').filter(Boolean)), [openText])
  const unmerged = useAnswer<Explanation | null>(open.size > 0 ? `apart ${id} ${query}` : '', 0, async (signal) => {
    if (open.size === 0) return null
    const wanted = new URLSearchParams(query)
    wanted.set('no_aggregate', 'true')
    return decodeExplanation(await getExplanation(id, wanted, signal))
  })
  const shown = useMemo(() => drawnPart(unmerged.data ? unfold(data.x, unmerged.data, open) : data.x, all), [data, unmerged.data, open, all])
  const v = shown.vertices.find((u) => u.id === selected) ?? data.x.vertices.find((u) => u.id === selected) ?? null
  const select = (vertex: string | null) => setParams({ sel: vertex })
  const toggle = (u: Vertex) => {
    const key = u.restOf ?? u.id
    if (u.count === 1 && !u.restOf) return
    const next = new Set(open)
    if (!next.delete(key)) next.add(key)
    // The panel closes to make space for the members; folding selects the merged vertex again.
    setParams({ open: [...next].join(','), sel: next.has(key) ? null : key })
  }
  const hidden = data.x.vertices.filter((_, i) => isNegligible(data.x, i)).length + shown.vertices.reduce((n, u) => n + Math.max(0, u.steps.length - 1), 0)
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || (event.target instanceof HTMLElement && event.target.closest('input, textarea, select, dialog'))) return
      if (event.key === '1') setParams({ view: null })
      else if (event.key === '2') setParams({ view: 'table' })
      else if (event.key === 'Escape') setParams({ sel: null })
      else return
      event.preventDefault()
    }
    window.addEventListener('keydown', onKey)
    return () => window.removeEventListener('keydown', onKey)
  }, [])
  const onCsv = () =>
    saveCsv(
      [
        ['id', 'type', 'node', 'tuple', 'origin', 'functional', 'count', 'start_ns', 'end_ns', 'delay_ns', 'self_ns', 'baseline_ns', 'expired'],
        ...data.x.vertices.map((u) => [u.id, u.type, u.node, u.tuple, u.origin, String(u.functional), u.count, data.x.originNs + BigInt(u.start), data.x.originNs + BigInt(u.end), u.delay, u.own, u.usual ?? '', String(u.expired)]),
      ],
      `explain-${id || params.get('service') || 'slowest'}.csv`,
    )
  const svgQuery = new URLSearchParams(query)
  svgQuery.set('format', 'svg')
  return (
    <>
      <div className="toolbar" role="toolbar" aria-label="Explanation">
        <div className="segmented" role="group" aria-label="View">
          <button type="button" aria-pressed={!table} title="Graph (1)" onClick={() => setParams({ view: null })}><Icon name="why" size={14} /> Graph</button>
          <button type="button" aria-pressed={table} title="Table (2)" onClick={() => setParams({ view: 'table' })}><Icon name="table" size={14} /> Table</button>
        </div>
        {(hidden > 0 || all) && <label className="row"><input type="checkbox" checked={all} onChange={(event) => setParams({ all: event.target.checked ? '1' : null })} /> All steps{hidden > 0 && <span className="muted"> ({grouped(hidden)} more took almost no time)</span>}</label>}
        {!table && <Legend />}
        <span className="spring" />
        {open.size > 0 && <button type="button" className="button quiet" onClick={() => setParams({ open: null })}>Fold all</button>}
        {!table && <button type="button" className="icon-button" aria-label="Save as PNG" title="Save as PNG" onClick={() => graph.current?.savePng(sentence, `explain-${id || 'slowest'}.png`)}><Icon name="image" /></button>}
        <button type="button" className="button quiet" onClick={onCsv}><Icon name="download" size={14} /> CSV</button>
        <a className="button quiet" href={explainPath(id, svgQuery)} download={`explain-${id || 'slowest'}.svg`}><Icon name="download" size={14} /> SVG</a>
      </div>
      <div className={`trace-body ${v ? 'with-panel' : ''}`}>
        {table ? <ExplainTable x={data.x} selected={selected} onSelect={select} /> : <ExplainGraph ref={graph} x={shown} selected={selected} onSelect={select} onToggle={toggle} />}
        {v && (
          <VertexPanel
            x={data.x} v={v} traceId={id} open={open.has(v.id)} unfolding={open.has(v.id) && unmerged.loading} unfoldError={open.has(v.id) ? unmerged.error : null}
            onToggle={() => toggle(v)} onClose={() => select(null)}
            onWhatIf={(change) => {
              const next = new URLSearchParams(location.search)
              if (!next.getAll('what_if').includes(change)) next.append('what_if', change)
              navigate(withParams(location.pathname, next), 'replace')
            }}
          />
        )}
      </div>
      <footer className="path-foot explain-foot">
        <span className="command"><code>{commandFor(id, query)}</code><CopyButton text={commandFor(id, query)} label="Copy the command" /></span>
        <span className="muted" title={exactNs(data.x.delay)}>{duration(data.x.delay)} in total: the sum of the own times of all steps.</span>
      </footer>
    </>
  )
}

function Legend() {
  return (
    <span className="explain-legend muted">
      <svg width="30" height="12" aria-hidden="true"><path className="ribbon" d="M0 6h30" strokeWidth="8" /></svg> caused by
      <svg width="30" height="12" aria-hidden="true" className="way-behind"><path className="ribbon" d="M0 6h30" strokeWidth="8" /><path className="dashes" d="M0 6h30" /></svg> waited for, on the same resource
    </span>
  )
}

// What limits the answer: causes that retention removed, and assumptions about servers and arrivals.
function Notes({ data }: { data: Loaded }) {
  const [open, setOpen] = useState(false)
  const expired = data.x.vertices.filter((v) => v.expired).length
  const assumed = describeAssumptions(data.answer.assumed, data.answer.loaded)
  const missing = describeOmissions(data.answer.loaded)
  if (expired === 0 && !missing && !open) return assumed.length === 0 ? null : <p className="explain-notes"><AssumedButton n={assumed.length} open={open} onClick={() => setOpen(true)} /></p>
  return (
    <div className={`banner ${expired > 0 || missing ? 'banner-warn' : ''}`}>
      <div className="banner-line">
        {expired > 0 && <><Icon name="warning" /><span>Retention removed causes of {count(expired, 'step')}, so the delay may have begun earlier.</span></>}
        {missing && <><Icon name="warning" /><span>Some causes may be missing: {missing}.</span></>}
        {assumed.length > 0 && <AssumedButton n={assumed.length} open={open} onClick={() => setOpen(!open)} />}
      </div>
      {open && <ul className="banner-list">{assumed.map((line) => <li key={line}>{line}</li>)}</ul>}
    </div>
  )
}

function AssumedButton({ n, open, onClick }: { n: number; open: boolean; onClick: () => void }) {
  return <button type="button" className="link-button" aria-expanded={open} onClick={onClick}>{open ? 'Hide assumptions' : `Based on ${count(n, 'assumption')}`}</button>
}
