import { useEffect, useMemo, useRef, useState } from 'react'
import { ApiError, searchTraces } from '../api/client'
import type { TraceSummary } from '../api/types'
import { useAnswer } from '../api/use_answer'
import { saveCsv } from '../parts/canvas'
import { registerServices } from '../parts/colours'
import { count, duration, exactInstant, grouped } from '../parts/format'
import { Icon } from '../parts/Icon'
import { EmptyState, ErrorState, Skeleton } from '../parts/states'
import { followInPage, navigate, setParams, useRoute, withParams } from '../shell/router'
import { FilterBar } from './FilterBar'
import { filterFromParams, printFilter, writeFilter, type Filter } from './filter_language'
import { HowToFill } from './HowToFill'
import { inRegion, Scatter, type Region } from './Scatter'
import { instantMs, rangeFromParams, rangePhrase } from './time_range'
import { TimeRangePicker } from './TimeRangePicker'
import { sortFromParam, sortTraces, TraceTable } from './TraceTable'

const PAGE = 500

function apiQuery(params: URLSearchParams): URLSearchParams {
  const query = new URLSearchParams()
  writeFilter(filterFromParams(params), query)
  const { since, until } = rangeFromParams(params)
  if (since !== 'all') query.set('since', since)
  if (until) query.set('until', until)
  query.set('limit', String(PAGE))
  return query
}

function regionFromParam(text: string | null): Region | null {
  const match = /^(\d+)-(\d+),(\d+)-(\d+)$/.exec(text ?? '')
  return match ? { fromNs: BigInt(match[1]!), toNs: BigInt(match[2]!), minNs: Number(match[3]), maxNs: Number(match[4]) } : null
}

export function SearchView() {
  const { params } = useRoute()
  const filter = filterFromParams(params)
  const range = rangeFromParams(params)
  const query = apiQuery(params).toString()
  const [reloads, setReloads] = useState(0)
  const { data, error, loading } = useAnswer(query, reloads, async (signal) => {
    const page = await searchTraces(new URLSearchParams(query), signal)
    registerServices(page.traces.map((t) => t.service))
    return { ...page, askedMs: Date.now() }
  })
  const more = useMorePages(query, reloads, data?.next ?? null)
  const traces = useMemo(() => (data ? [...data.traces, ...more.traces] : []), [data, more.traces])
  const next = more.started ? more.next : (data?.next ?? null)
  const region = regionFromParam(params.get('sel'))
  const shown = useMemo(() => (region ? traces.filter((t) => inRegion(t, region)) : traces), [traces, params.get('sel')])
  const sort = sortFromParam(params.get('sort'))
  const picked = (params.get('pick') ?? '').split(',').filter((id) => /^[0-9a-f]{32}$/.test(id)).slice(-2)
  const log = params.get('axis') !== 'linear'
  useEffect(() => {
    document.title = 'Search · wherefore'
  }, [])

  const onFilter = (f: Filter) => {
    const wanted = new URLSearchParams(location.search)
    writeFilter(f, wanted)
    wanted.delete('sel')
    const url = withParams('/search', wanted)
    if (url === location.pathname + location.search) setReloads((n) => n + 1)
    else navigate(url)
  }
  const onCsv = () =>
    saveCsv(
      [
        ['trace_id', 'service', 'name', 'start', 'start_ns', 'duration_ns', 'spans', 'errors', 'complete'],
        ...sortTraces(shown, sort).map((t) => [t.trace_id, t.service, t.name, exactInstant(t.start_ns), t.start_ns, t.duration_ns, t.spans, t.errors, String(t.complete)]),
      ],
      'traces.csv',
    )
  const fromMs = range.since === 'all' ? null : instantMs(range.since, data?.askedMs)
  const toMs = (range.until ? instantMs(range.until) : null) ?? data?.askedMs ?? Date.now()
  return (
    <div className="search">
      <header className="search-head">
        <div className="answer">
          <Answer traces={shown} total={traces.length} loading={loading && !data} failed={error !== null && !data} more={next !== null} phrase={rangePhrase(range)} region={region} />
        </div>
        <TimeRangePicker key={`${range.since} ${range.until}`} range={range} />
      </header>
      <div className="search-bar">
        <FilterBar text={printFilter(filter)} onFilter={onFilter} />
        <button type="button" className="icon-button" aria-label="Search again" title="Search again" onClick={() => setReloads((n) => n + 1)}><Icon name="reset" /></button>
      </div>
      {error && !data && <ErrorState error={error} onRetry={() => setReloads((n) => n + 1)} />}
      {loading && !data && <Skeleton rows={14} label="Searching" />}
      {data && traces.length === 0 && <NothingFound filter={filter} since={range.since} />}
      {data && traces.length > 0 && (
        <>
          <Scatter
            traces={traces} fromMs={fromMs} toMs={toMs} log={log} region={region}
            onLog={(value) => setParams({ axis: value ? null : 'linear' })}
            onRegion={(r) => setParams({ sel: r && `${r.fromNs}-${r.toNs},${r.minNs}-${r.maxNs}` })}
            onCsv={onCsv}
          />
          {region && (
            <p className="selection-note" role="status">
              The table shows {count(shown.length, 'trace')} in the selected region.{' '}
              <button type="button" className="link-button" onClick={() => setParams({ sel: null })}>Clear selection</button>
            </p>
          )}
          {picked.length > 0 && <Picked picked={picked} />}
          <TraceTable
            traces={shown}
            picked={picked}
            sort={sort}
            footer={
              <>
                {more.error && <span className="bad">{more.error.message} </span>}
                {next !== null ? (
                  <button type="button" className="button" disabled={more.loading} onClick={more.load}>
                    {more.loading ? 'Loading…' : `Load ${PAGE} more`}
                  </button>
                ) : (
                  <span className="muted">{region ? '' : 'No more traces.'}</span>
                )}
              </>
            }
          />
        </>
      )}
    </div>
  )
}

// Offers to compare two selected traces.
function Picked({ picked }: { picked: string[] }) {
  return (
    <p className="pick-note" role="status">
      {picked.length === 2 ? (
        <a className="button primary" href={`/compare?a=${picked[0]}&b=${picked[1]}`} onClick={followInPage}>Compare the two selected traces</a>
      ) : (
        <span>One trace selected; select another to compare them.</span>
      )}
      <button type="button" className="link-button" onClick={() => setParams({ pick: null })}>Clear</button>
    </p>
  )
}

function Answer({ traces, total, loading, failed, more, phrase, region }: { traces: TraceSummary[]; total: number; loading: boolean; failed: boolean; more: boolean; phrase: string; region: Region | null }) {
  if (failed) return <h1>The search failed</h1>
  if (loading) return <h1 className="muted">Searching…</h1>
  if (traces.length === 0) return <h1>No traces {region && total > 0 ? 'in the selection' : phrase}</h1>
  const slowest = traces.reduce((a, b) => (b.duration_ns > a.duration_ns ? b : a))
  const failing = traces.filter((t) => t.errors > 0).length
  return (
    <>
      <h1>
        {more && !region ? `Newest ${grouped(traces.length)} traces` : count(traces.length, 'trace')} {region ? 'selected' : phrase}; slowest{' '}
        <a href={`/trace/${slowest.trace_id}`} onClick={followInPage}>
          <strong>{duration(slowest.duration_ns)}</strong>: {slowest.service} {slowest.name}
        </a>
      </h1>
      <p>
        p50 {duration(quantile(traces, 0.5))} · p99 {duration(quantile(traces, 0.99))} ·{' '}
        {failing === 0 ? 'no errors' : <span className="bad">▲ {count(failing, 'trace')} with errors</span>}
        <span className="dot" />
        <a href={`/critical-path${location.search}`} onClick={followInPage}>Where did the time go?</a>{' '}
        <a href={slowestUrl(slowest)} title={`Explain the slowest requests of ${slowest.service} ${slowest.name}`} onClick={followInPage}>Why are the slowest slow?</a>
      </p>
    </>
  )
}

// Explains the slowest requests of the operation of the slowest trace.
function slowestUrl(slowest: TraceSummary): string {
  const params = new URLSearchParams(location.search)
  const { since, until } = rangeFromParams(params)
  const wanted = new URLSearchParams({ service: slowest.service, operation: slowest.name, since })
  if (until) wanted.set('until', until)
  return `/explain?${wanted}`
}

function quantile(traces: TraceSummary[], q: number): number {
  const sorted = traces.map((t) => t.duration_ns).sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? 0
}

function NothingFound({ filter, since }: { filter: Filter; since: string }) {
  const filtered = printFilter(filter) !== ''
  return (
    <EmptyState title={filtered ? 'Nothing matches this filter.' : 'Nothing was received in this time range.'}>
      <div className="row">
        {since !== 'all' && <button type="button" className="button" onClick={() => setParams({ since: 'all', until: null, sel: null }, 'push')}>Search all time</button>}
        {filtered && <button type="button" className="button" onClick={() => navigate('/search')}>Clear filter</button>}
      </div>
      {!filtered && <HowToFill />}
    </EmptyState>
  )
}

// Pages after the first; a new query drops them.
function useMorePages(query: string, reloads: number, firstNext: string | null) {
  const key = `${query} ${reloads}`
  const [state, setState] = useState<{ key: string; traces: TraceSummary[]; next: string | null; started: boolean; loading: boolean; error: ApiError | null }>(
    { key, traces: [], next: null, started: false, loading: false, error: null },
  )
  const abort = useRef<AbortController>()
  useEffect(() => {
    setState({ key, traces: [], next: null, started: false, loading: false, error: null })
    return () => abort.current?.abort()
  }, [key])
  const load = () => {
    const cursor = state.started ? state.next : firstNext
    if (!cursor || state.loading) return
    abort.current = new AbortController()
    const { signal } = abort.current
    const params = new URLSearchParams(query)
    params.set('cursor', cursor)
    setState((s) => ({ ...s, loading: true, error: null }))
    searchTraces(params, signal).then(
      (page) => !signal.aborted && setState((s) => ({ ...s, traces: [...s.traces, ...page.traces], next: page.next, started: true, loading: false })),
      (cause: unknown) => !signal.aborted && setState((s) => ({ ...s, loading: false, error: cause instanceof ApiError ? cause : null })),
    )
  }
  return { ...state, load }
}
