import { useEffect, useMemo, useState } from 'react'
import { getCriticalPaths } from '../api/client'
import { ns } from '../api/exact_json'
import type { CriticalPathsAnswer } from '../api/types'
import { useAnswer } from '../api/use_answer'
import { saveCsv } from '../parts/canvas'
import { registerServices } from '../parts/colours'
import { count, duration, exactNs, grouped, percent } from '../parts/format'
import { Icon } from '../parts/Icon'
import { EmptyState, ErrorState, Skeleton } from '../parts/states'
import { VERDICTS, verdictOf, verdictWords } from '../parts/verdict'
import { zeroTotals, VerdictChip, VerdictTotals } from '../parts/VerdictParts'
import { useVirtualRows } from '../parts/virtual_rows'
import { FilterBar } from '../search/FilterBar'
import { filterFromParams, printFilter, writeFilter, type Filter } from '../search/filter_language'
import { rangeFromParams, rangePhrase } from '../search/time_range'
import { TimeRangePicker } from '../search/TimeRangePicker'
import { followInPage, navigate, setParams, useRoute, withParams } from '../shell/router'
import { WhatIfBox } from './WhatIfBox'

// Max number of requests; the server's default.
const LIMIT = 1000

function apiQuery(params: URLSearchParams): URLSearchParams {
  const query = new URLSearchParams()
  writeFilter(filterFromParams(params), query)
  const { since, until } = rangeFromParams(params)
  if (since !== 'all') query.set('since', since)
  if (until) query.set('until', until)
  for (const change of params.getAll('what_if')) query.append('what_if', change)
  query.set('limit', String(LIMIT))
  return query
}

// The URL of another view with the same filter.
export function sameFilter(params: URLSearchParams, path: string, changes: Record<string, string> = {}): string {
  const out = new URLSearchParams()
  for (const key of ['service', 'operation', 'status', 'min_duration', 'max_duration', 'since', 'until']) if (params.get(key)) out.set(key, params.get(key)!)
  for (const attr of params.getAll('attr')) out.append('attr', attr)
  for (const [key, value] of Object.entries(changes)) out.set(key, value)
  return withParams(path, out)
}

// The critical paths of many requests, summed by step.
export function PathsView() {
  const { params } = useRoute()
  const filter = filterFromParams(params)
  const range = rangeFromParams(params)
  const query = apiQuery(params).toString()
  const [reloads, setReloads] = useState(0)
  const { data, error, loading } = useAnswer(`paths ${query}`, reloads, async (signal) => {
    const answer = await getCriticalPaths(new URLSearchParams(query), signal)
    registerServices(answer.components.map((c) => c.service))
    return answer
  })
  useEffect(() => {
    document.title = 'Critical path · wherefore'
  }, [])
  const onFilter = (f: Filter) => {
    const wanted = new URLSearchParams(location.search)
    writeFilter(f, wanted)
    const url = withParams('/critical-path', wanted)
    if (url === location.pathname + location.search) setReloads((n) => n + 1)
    else navigate(url)
  }
  return (
    <div className="search">
      <header className="search-head">
        <div className="answer">
          <PathsAnswer data={data} failed={error !== null && !data} phrase={rangePhrase(range)} params={params} />
        </div>
        <TimeRangePicker key={`${range.since} ${range.until}`} range={range} />
      </header>
      <div className="search-bar">
        <FilterBar text={printFilter(filter)} onFilter={onFilter} />
        <button type="button" className="icon-button" aria-label="Refresh" title="Refresh" onClick={() => setReloads((n) => n + 1)}><Icon name="reset" /></button>
      </div>
      {error && !data && <ErrorState error={error} onRetry={() => setReloads((n) => n + 1)}>{params.has('what_if') && <button type="button" className="button" onClick={() => setParams({ what_if: null })}>Remove the what-if</button>}</ErrorState>}
      {loading && !data && !error && <Skeleton rows={12} label="Summing critical paths" />}
      {data && data.traces === 0 && (
        <EmptyState title="No requests to explain.">
          <p>{printFilter(filter) ? 'Nothing matches this filter in this time range.' : 'Nothing was received in this time range.'}</p>
          <div className="row">
            {range.since !== 'all' && <button type="button" className="button" onClick={() => setParams({ since: 'all', until: null }, 'push')}>All time</button>}
            {printFilter(filter) && <button type="button" className="button" onClick={() => navigate('/critical-path')}>Clear filter</button>}
          </div>
        </EmptyState>
      )}
      {data && data.traces > 0 && <Components data={data} params={params} />}
    </div>
  )
}

function PathsAnswer({ data, failed, phrase, params }: { data: CriticalPathsAnswer | null; failed: boolean; phrase: string; params: URLSearchParams }) {
  if (failed) return <h1>Could not sum the critical paths</h1>
  if (!data) return <h1 className="muted">Summing critical paths…</h1>
  const top = data.components[0]
  if (!top) return <h1>No requests {phrase}</h1>
  const whole = Number(ns(data.duration_ns))
  return (
    <>
      <h1>
        <strong>{percent(top.share, 1)}</strong> of the time of {count(data.traces, 'request')} {phrase}:{' '}
        <a href={sameFilter(params, '/search', { service: top.service, operation: top.name })} onClick={followInPage}>{top.service} {top.name}</a> <span className="thin">({verdictWords(verdictOf(top.category))})</span>
      </h1>
      <p>
        On the path of {count(top.traces, 'request')}, p50 {duration(Number(ns(top.p50_ns)))}
        <span className="dot" />{duration(whole)} in total
        {data.next !== null && <><span className="dot" />newest {grouped(data.traces)} requests only; more match</>}
        {data.skipped > 0 && <><span className="dot" />{count(data.skipped, 'trace')} left out: inconsistent events</>}
        <span className="dot" /><a href={sameFilter(params, '/search')} onClick={followInPage}>Show the traces</a>
      </p>
    </>
  )
}

const ROW = 28

function Components({ data, params }: { data: CriticalPathsAnswer; params: URLSearchParams }) {
  const rows = useVirtualRows(data.components.length, ROW)
  const whole = Number(ns(data.duration_ns))
  const totals = useMemo(() => {
    const out = zeroTotals()
    for (const c of data.components) out[verdictOf(c.category)] += Number(ns(c.total_ns))
    return out
  }, [data])
  const suggestions = useMemo(() => {
    const few = data.components.slice(0, 15)
    return [...new Set([...few.map((c) => `service/${c.service}=0.5x`), ...few.map((c) => `operation/${c.name}=0.5x`), ...VERDICTS.filter((v) => totals[v] > 0).map((v) => `type/${v}=0.5x`)])]
  }, [data, totals])
  const largest = data.components[0]?.share || 1
  const then = data.what_if ? { matched: Number(ns(data.what_if.matched)), durationNs: Number(ns(data.what_if.duration_ns)) } : null
  const onCsv = () =>
    saveCsv(
      [
        ['service', 'name', 'category', 'traces', 'total_ns', 'share', 'p50_ns', 'p95_ns', 'max_ns', 'max_trace_id'],
        ...data.components.map((c) => [c.service, c.name, c.category, c.traces, ns(c.total_ns), c.share, ns(c.p50_ns), ns(c.p95_ns), ns(c.max_ns), c.max_trace_id]),
      ],
      'critical-path.csv',
    )
  return (
    <>
      <div className="paths-head">
        <VerdictTotals totals={totals} whole={whole} />
        <span className="spring" />
        <WhatIfBox changes={params.getAll('what_if')} suggestions={suggestions} nowNs={whole} then={then} subject="together they" />
        <button type="button" className="button quiet" onClick={onCsv}><Icon name="download" size={14} /> CSV</button>
      </div>
      <div className="paths-strip" aria-hidden="true">
        {VERDICTS.filter((v) => totals[v] > 0).map((v) => <span key={v} className={`verdict-${v}`} style={{ width: `${(totals[v] / Math.max(whole, 1)) * 100}%` }} />)}
      </div>
      <div className="components" role="table" aria-label="Components of the critical paths" aria-rowcount={data.components.length + 1}>
        <div role="rowgroup">
          <div className="components-row components-head" role="row">
            <div role="columnheader" className="right">Share</div>
            <div role="columnheader" className="right">Time</div>
            <div role="columnheader" className="c-wide"><span className="sr-only">Share as a bar</span></div>
            <div role="columnheader">Kind</div>
            <div role="columnheader">Step</div>
            <div role="columnheader" className="right c-wide">Requests</div>
            <div role="columnheader" className="right c-wide">p50</div>
            <div role="columnheader" className="right c-wide">p95</div>
            <div role="columnheader" className="right c-wide">Max</div>
          </div>
        </div>
        <div className="components-scroll" role="rowgroup" ref={rows.box} onScroll={rows.onScroll}>
          <div role="presentation" style={{ height: rows.above }} />
          {data.components.slice(rows.first, rows.last).map((c, k) => {
            const verdict = verdictOf(c.category)
            const time = (value: typeof c.total_ns) => ({ children: duration(Number(ns(value))), title: exactNs(ns(value)) })
            return (
              <div key={`${c.service} ${c.name} ${c.category}`} role="row" aria-rowindex={rows.first + k + 2} className="components-row">
                <div role="cell" className="num right">{percent(c.share, 1)}</div>
                <div role="cell" className="num right" {...time(c.total_ns)} />
                <div role="cell" className="c-wide"><span className={`bar verdict-${verdict}`} style={{ width: `${(c.share / largest) * 100}%` }} /></div>
                <div role="cell"><VerdictChip verdict={verdict} /></div>
                <div role="cell" className="s-step"><a href={sameFilter(params, '/search', { service: c.service, operation: c.name })} title={`Traces with ${c.service} ${c.name}`} onClick={followInPage}><strong>{c.service}</strong> {c.name}</a></div>
                <div role="cell" className="num right c-wide">{grouped(c.traces)}</div>
                <div role="cell" className="num right c-wide" {...time(c.p50_ns)} />
                <div role="cell" className="num right c-wide" {...time(c.p95_ns)} />
                <div role="cell" className="num right c-wide"><a href={`/trace/${c.max_trace_id}?view=path`} title={`The request with the max, ${exactNs(ns(c.max_ns))}`} onClick={followInPage}>{duration(Number(ns(c.max_ns)))}</a></div>
              </div>
            )
          })}
          <div role="presentation" style={{ height: rows.below }} />
        </div>
      </div>
    </>
  )
}
