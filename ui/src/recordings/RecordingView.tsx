import { useCallback, useEffect, useMemo, useState } from 'react'
import { getGraph, getRaces, getSummary, recordingPath, type RecordingGraph, type RecordingSummary } from '../api/recordings'
import { useAnswer } from '../api/use_answer'
import { count, duration as durationText, grouped } from '../parts/format'
import { Icon } from '../parts/Icon'
import { EmptyState, ErrorState, Skeleton } from '../parts/states'
import { followInPage, setParams, useRoute } from '../shell/router'
import { isJoin, makeLanes, placeText, waitRows, type Lanes } from './lanes_model'
import { SubPanel, useLineage } from './SubPanel'
import { ThreadLanes } from './ThreadLanes'

// Recordings with more sub-computations load in parts.
const MAX_AT_ONCE = 20_000

const VIEWS: [string, string, string][] = [
  ['threads', 'Threads', '1'],
  ['waits', 'Waits', '2'],
  ['pages', 'Pages', '3'],
]

// One recorded program: its threads over time, their waits, and the memory they share.
export function RecordingView({ id }: { id: string }) {
  const { params } = useRoute()
  const [reloads, setReloads] = useState(0)
  const summary = useAnswer(`summary ${id}`, reloads, (signal) => getSummary(id, signal))
  const pieces = summary.data ? Math.max(1, Math.ceil(summary.data.sub_computations / MAX_AT_ONCE)) : 1
  const piece = Math.min(pieces - 1, Math.max(0, Number(params.get('piece') ?? 0) || 0))
  const graph = useAnswer<RecordingGraph | null>(`graph ${id} ${piece} of ${summary.data ? pieces : 0}`, reloads, async (signal) => {
    if (!summary.data) return null
    if (pieces === 1) return getGraph(id, {}, signal)
    const length = summary.data.duration_ns / pieces
    return getGraph(id, { from_ns: String(Math.floor(piece * length)), until_ns: String(Math.ceil((piece + 1) * length)) }, signal)
  })
  const view = params.get('view') ?? 'threads'
  useEffect(() => {
    document.title = 'Recording · wherefore'
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || (event.target instanceof HTMLElement && event.target.closest('input, textarea, select, dialog'))) return
      const chosen = VIEWS.find(([, , key]) => key === event.key)
      if (chosen) setParams({ view: chosen[0] === 'threads' ? null : chosen[0] })
      else if (event.key === 'Escape') setParams({ sub: null, lineage: null })
      else return
      event.preventDefault()
    }
    window.addEventListener('keydown', onKey)
    return () => window.removeEventListener('keydown', onKey)
  }, [])
  const duration = summary.data?.duration_ns ?? 0
  const lanes = useMemo(() => (graph.data ? makeLanes(graph.data, duration) : null), [graph.data, duration])
  const error = summary.error ?? graph.error
  if (error && !graph.data) {
    return (
      <ErrorState error={error} onRetry={() => setReloads((n) => n + 1)}>
        <a className="button" href={`/trace/${id}`} onClick={followInPage}>Open trace</a>
      </ErrorState>
    )
  }
  if (!summary.data || !graph.data || !lanes) return <Skeleton rows={10} label="Loading the recording" />
  return (
    <div className="recording">
      <header className="search-head">
        <div className="answer">
          <h1>{sentence(graph.data, summary.data)}</h1>
          <p className="muted">
            {count(summary.data.sub_computations, 'sub-computation')} · {count(summary.data.edges.sync, 'sync edge')}, {count(summary.data.edges.data, 'data edge')} · recorded: {summary.data.depth.join(', ')} ·{' '}
            <a href={`/trace/${id}`} onClick={followInPage}>trace</a> · <a href={`/explain/${id}`} onClick={followInPage}>explain</a>
          </p>
        </div>
      </header>
      {!summary.data.complete && <p className="banner banner-warn banner-line"><Icon name="warning" /> The recording was cut off; the last 0.1 s may be missing.</p>}
      {Object.entries(summary.data.lost).map(([name, n]) => <p key={name} className="banner banner-warn banner-line"><Icon name="warning" /> {grouped(n)} not recorded: {name.replace(/_/g, ' ')}</p>)}
      <div className="toolbar recording-tools">
        <div className="segmented" role="group" aria-label="View">
          {VIEWS.map(([name, title, key]) => <button key={name} type="button" aria-pressed={view === name} title={`${title} (${key})`} onClick={() => setParams({ view: name === 'threads' ? null : name })}>{title}</button>)}
        </div>
        {pieces > 1 && (
          <span className="pieces">
            <button type="button" className="button" disabled={piece === 0} onClick={() => setParams({ piece: String(piece - 1), sub: null })}>Previous</button>
            <span>part {piece + 1} of {pieces}</span>
            <button type="button" className="button" disabled={piece === pieces - 1} onClick={() => setParams({ piece: String(piece + 1), sub: null })}>Next</button>
          </span>
        )}
      </div>
      {view === 'waits' ? <Waits graph={graph.data} />
        : view === 'pages' ? <Pages id={id} data={summary.data.depth.includes('data')} />
        : <Threads id={id} graph={graph.data} lanes={lanes} duration={duration} params={params} />}
    </div>
  )
}

function sentence(graph: RecordingGraph, summary: RecordingSummary): string {
  const start = `${count(summary.threads, 'thread')} in ${durationText(summary.duration_ns)}`
  const largest = waitRows(graph).find((row) => !isJoin(row))
  if (!largest || largest.total * 1000 < summary.duration_ns) return `${start}; almost no waiting`
  const longest = graph.sub_computations.find((sub) => sub.id === largest.longestSub)
  const where = placeText(longest?.sync?.site)
  return `${start}; most waiting was for ${largest.label}: ${durationText(largest.total)} in ${count(largest.waits, 'wait')}, max ${durationText(largest.longest)} by thread ${longest?.thread}${where ? ` in ${where}` : ''}`
}

function Threads({ id, graph, lanes, duration, params }: { id: string; graph: RecordingGraph; lanes: Lanes; duration: number; params: URLSearchParams }) {
  const selected = params.get('sub')
  const question = params.get('lineage')
  const lineage = useLineage(id, question)
  const found = useMemo(() => (question && lineage.data ? new Map(lineage.data.sub_computations.map((sub) => [sub.id, sub.unordered])) : null), [question, lineage.data])
  const onSelect = useCallback((sub: string | null) => setParams(sub ? { sub } : { sub: null, lineage: null }), [])
  const known = selected && lanes.byId.has(selected) ? selected : null
  return (
    <div className="trace-body recording-body">
      <ThreadLanes lanes={lanes} duration={duration} selected={known} lineage={found} onSelect={onSelect} />
      {known && <SubPanel id={id} graph={graph} lanes={lanes} duration={duration} selected={known} question={question} onAsk={(question) => setParams({ lineage: question })} onSelect={onSelect} />}
    </div>
  )
}

function Waits({ graph }: { graph: RecordingGraph }) {
  const rows = waitRows(graph)
  if (rows.length === 0) return <EmptyState title="No waits"><p>No call in this part blocked its thread.</p></EmptyState>
  return (
    <div className="table-scroll">
      <table className="grid">
        <thead><tr><th scope="col">waited for</th><th scope="col">in</th><th scope="col" className="right">waits</th><th scope="col" className="right">total</th><th scope="col" className="right">max</th><th scope="col">max at</th></tr></thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.label + row.object}>
              <td>{row.label || 'no object'}</td>
              <td className="mono">{row.ops.join(', ')}</td>
              <td className="right">{grouped(row.waits)}</td>
              <td className="right">{durationText(row.total)}</td>
              <td className="right">{durationText(row.longest)}</td>
              <td><button type="button" className="link-button mono" onClick={() => setParams({ view: null, sub: row.longestSub })}>{row.longestSub}</button></td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function Pages({ id, data }: { id: string; data: boolean }) {
  const races = useAnswer(`races ${id} ${data}`, 0, async (signal) => (data ? getRaces(id, signal) : []))
  if (!data) {
    return (
      <EmptyState title="Memory was not recorded">
        <p>To record which pages each thread reads and writes: <code>wherefore record --data -o run.cpg -- ./prog</code></p>
      </EmptyState>
    )
  }
  return (
    <div className="table-scroll page-matrix">
      <h2>Which thread touched which page <a className="button" href={recordingPath(id, { what: 'pages', format: 'csv' })} download="pages.csv">CSV</a></h2>
      <img src={recordingPath(id, { what: 'pages', format: 'svg' })} alt="Pages by thread: darker where more sub-computations wrote" />
      <h2>Pages two threads touched without synchronization</h2>
      {races.error && <ErrorState error={races.error} />}
      {races.data?.length === 0 && <p>None.</p>}
      {races.data && races.data.length > 0 && (
        <table className="grid">
          <thead><tr><th scope="col">page</th><th scope="col">symbol</th><th scope="col">access</th><th scope="col">other access</th><th scope="col" className="right">pairs</th></tr></thead>
          <tbody>
            {races.data.slice(0, 500).map((race, i) => (
              <tr key={i}>
                <td className="mono">{race.page}</td>
                <td>{race.symbol ?? ''}</td>
                <td><button type="button" className="link-button mono" onClick={() => setParams({ view: null, sub: race.a })}>{race.a}</button> {race.a_access}</td>
                <td><button type="button" className="link-button mono" onClick={() => setParams({ view: null, sub: race.b })}>{race.b}</button> {race.b_access}</td>
                <td className="right">{grouped(race.pairs)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </div>
  )
}
