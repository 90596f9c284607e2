import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { ApiError } from '../api/client'
import { checkLive, explainQuery, isDenied, listQueries, queryStored, removeQuery, startQuery, type LiveQuery, type Tracepoint } from '../api/queries'
import { useAnswer } from '../api/use_answer'
import { count, duration } from '../parts/format'
import { Icon } from '../parts/Icon'
import { ErrorState, Skeleton } from '../parts/states'
import { rangeFromParams, rangePhrase } from '../search/time_range'
import { TimeRangePicker } from '../search/TimeRangePicker'
import { setParams, useRoute } from '../shell/router'
import { sentence } from './group_chart'
import { complete, tracepointsOf, type Mode } from './query_completion'
import { Collected, type Results } from './query_results'
import { choiceOf, DEFAULT_FOR, DEFAULT_INTERVAL, INTERVALS, intervalMs, LENGTHS, modeOf, shellQuoted } from './query_state'
import { outline, placeOf, type Outline, type Place } from './query_text'
import { QueryEditor } from './QueryEditor'
import { QueryPlan } from './QueryPlan'
import { QueryResults } from './QueryResults'
import { StandingQueries } from './StandingQueries'
import { StarterQueries } from './StarterQueries'
import { TokenDialog } from './TokenDialog'
import { useLiveQuery, type FollowedQuery } from './use_live_query'

const CHECK_AFTER_MS = 250
const LIST_EVERY_MS = 2000

// The server's check of the text, shortly after the last key.
function useFault(text: string, mode: Mode): Place | null {
  const [fault, setFault] = useState<{ of: string; place: Place | null }>({ of: '', place: null })
  const key = `${mode} ${text}`
  useEffect(() => {
    if (text.trim() === '') return
    const abort = new AbortController()
    const timer = setTimeout(() => {
      const asked: Promise<unknown> = mode === 'live' ? checkLive(text, abort.signal) : explainQuery(text, abort.signal)
      asked.then(() => setFault({ of: key, place: null }), (cause: unknown) => {
        if (abort.signal.aborted || !(cause instanceof ApiError) || cause.code !== 'bad_input') return
        setFault({ of: key, place: placeOf(text, cause.message, cause.hint) })
      })
    }, CHECK_AFTER_MS)
    return () => {
      clearTimeout(timer)
      abort.abort()
    }
  }, [key, text, mode])
  return fault.of === key && text.trim() !== '' ? fault.place : null
}

function useRunning(): { queries: LiveQuery[] | null; refresh: () => void } {
  const [queries, setQueries] = useState<LiveQuery[] | null>(null)
  const [reloads, setReloads] = useState(0)
  useEffect(() => {
    const abort = new AbortController()
    const ask = () => {
      if (document.hidden) return
      listQueries(abort.signal).then(setQueries, () => undefined)
    }
    ask()
    const timer = setInterval(ask, LIST_EVERY_MS)
    return () => {
      clearInterval(timer)
      abort.abort()
    }
  }, [reloads])
  return { queries, refresh: useCallback(() => setReloads((n) => n + 1), []) }
}

// Queries on the running system or on stored traces, joined by happened-before.
export function QueryView() {
  const { params } = useRoute()
  const mode = modeOf(params)
  const urlText = params.get('q') ?? ''
  const id = mode === 'live' ? (params.get('id') ?? '') : ''
  const [text, setText] = useState(urlText)
  const [fault, setFault] = useState<ApiError | null>(null)
  const [token, setToken] = useState<{ wrong: boolean; then: () => Promise<void> } | null>(null)
  const [known, setKnown] = useState<{ mode: Mode; list: Tracepoint[] } | null>(null)
  const [reloads, setReloads] = useState(0)
  const [busy, setBusy] = useState(false)
  const followed = useLiveQuery(id)
  const { queries, refresh } = useRunning()
  const place = useFault(text, mode)
  const range = rangeFromParams(params)
  const stopAt = useRef(0)
  useEffect(() => setText(urlText), [urlText])
  useEffect(() => {
    document.title = 'Query · wherefore'
    return () => clearTimeout(stopAt.current)
  }, [])
  useEffect(() => {
    const abort = new AbortController()
    tracepointsOf(mode, abort.signal).then((list) => setKnown({ mode, list }), () => undefined)
    return () => abort.abort()
  }, [mode])
  useEffect(() => {
    if (followed.state === 'ended') refresh()
  }, [followed.state, refresh])
  useEffect(() => {
    // A link may name a query without its text.
    if (followed.query && urlText === '') setParams({ q: followed.query.query })
  }, [followed.query, urlText])

  // Runs `act`; if the server denies it, asks for the administrator token and runs it again.
  const asAdmin = async (act: () => Promise<void>) => {
    setBusy(true)
    setFault(null)
    try {
      await act()
      setToken(null)
    } catch (cause) {
      if (!(cause instanceof ApiError)) throw cause
      if (isDenied(cause)) setToken((old) => ({ wrong: old !== null, then: act }))
      else {
        setToken(null)
        if (cause.code !== 'bad_input' || place === null) setFault(cause)
      }
    } finally {
      setBusy(false)
    }
  }
  const start = (standing: boolean) =>
    asAdmin(async () => {
      const before = followed.state === 'running' && followed.query && !followed.query.standing ? followed.query.id : ''
      const query = await startQuery({ query: text, interval_ms: intervalMs(params.get('interval') ?? DEFAULT_INTERVAL), standing, total: !standing })
      clearTimeout(stopAt.current)
      setParams({ q: text, id: query.id, group: null, ...(text === urlText ? {} : RESET_CHOICES) }, 'push')
      const length = params.get('for') ?? DEFAULT_FOR
      // A timer here is enough: without this page the server removes the query.
      if (!standing && length !== 'none') stopAt.current = window.setTimeout(() => void stop(query.id), intervalMs(length))
      refresh()
      if (before) void removeQuery(before).catch(() => undefined)
    })
  const stop = (which: string) =>
    asAdmin(async () => {
      clearTimeout(stopAt.current)
      await removeQuery(which)
      refresh()
    })
  const run = () => {
    if (text.trim() === '' || busy) return
    if (mode === 'live') void start(false)
    else if (text === urlText) setReloads((n) => n + 1)
    else setParams({ q: text, group: null, ...RESET_CHOICES }, 'push')
  }
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || (event.target instanceof HTMLElement && event.target.closest('input, textarea, select, dialog'))) return
      const view = { 1: 'chart', 2: 'pivot', 3: 'table' }[event.key]
      if (view) setParams({ view })
      else if (event.key === 'Escape') setParams({ group: null })
      else return
      event.preventDefault()
    }
    window.addEventListener('keydown', onKey)
    return () => window.removeEventListener('keydown', onKey)
  }, [])
  const tracepoints = known?.mode === mode ? known.list : null
  const running = followed.state === 'running' || followed.state === 'retrying'
  const stored = useStored(mode === 'stored' ? urlText : '', params, reloads)
  const shown = mode === 'live' ? (followed.query ? { results: followed.results, outline: outline(followed.query.query) } : null) : { results: stored.results, outline: outline(urlText) }
  const headline = headlineOf(mode, followed, shown, params, stored.loading)
  const storedRange = useMemo(() => storedParams(params), [params])
  const now = queries?.find((q) => q.id === followed.query?.id)
  const cost = followed.state === 'ended' ? followed.cost : (now?.cost ?? followed.cost)
  return (
    <div className="page query-view">
      <header className="dataset-head">
        <div className="answer">
          <h1 className={headline.quiet ? 'muted' : ''}>{headline.text}</h1>
          <p className="facts-line">
            {mode === 'live' ? <LiveFacts followed={followed} now={now} known={tracepoints} /> : <span>{stored.facts || `Each span gives two events, NAME at its start and NAME.end at its end; ${rangePhrase(range)}.`}</span>}
          </p>
        </div>
        <div className="segmented" role="group" aria-label="What to query">
          <button type="button" aria-pressed={mode === 'live'} onClick={() => setParams({ mode: null, q: text, group: null, since: null, until: null }, 'push')}>Running system</button>
          <button type="button" aria-pressed={mode === 'stored'} onClick={() => setParams({ mode: 'stored', id: null, q: null, group: null }, 'push')}>Stored traces</button>
        </div>
      </header>
      <QueryEditor text={text} fault={place} complete={(t, caret, signal) => complete(t, caret, mode, tracepoints ?? [], signal)} onChange={setText} onRun={run} />
      <div className="query-controls">
        {mode === 'live' && running && followed.query ? (
          <button type="button" className="button primary" disabled={busy} onClick={() => void stop(followed.query!.id)}><Icon name="pause" size={14} /> Stop</button>
        ) : (
          <button type="button" className="button primary" disabled={busy || text.trim() === '' || place !== null} onClick={run}><Icon name="play" size={14} /> Run</button>
        )}
        {mode === 'live' && running && followed.query && text !== followed.query.query && <button type="button" className="button" disabled={busy || place !== null} onClick={() => void start(false)}>Run the new text</button>}
        {mode === 'live' && (
          <>
            <Choose label="every" value={params.get('interval') ?? DEFAULT_INTERVAL} options={INTERVALS.map((i) => [i, i])} onChange={(v) => setParams({ interval: v === DEFAULT_INTERVAL ? null : v })} />
            <Choose label="for" value={params.get('for') ?? DEFAULT_FOR} options={LENGTHS} onChange={(v) => setParams({ for: v === DEFAULT_FOR ? null : v })} />
            {!(running && followed.query?.standing) && <button type="button" className="button" disabled={busy || text.trim() === '' || place !== null} title="The server runs it until it is removed, also after a restart. It starts over." onClick={() => void start(true)}>Keep as standing query</button>}
          </>
        )}
        {mode === 'stored' && <TimeRangePicker key={`${range.since} ${range.until}`} range={range} />}
        <button type="button" className="button quiet" aria-expanded={params.get('plan') === '1'} disabled={text.trim() === ''} onClick={() => setParams({ plan: params.get('plan') === '1' ? null : '1' })}>Plan</button>
        <span className="muted query-keys"><kbd>Ctrl</kbd><kbd>Enter</kbd> runs, <kbd>Tab</kbd> completes</span>
      </div>
      {params.get('plan') === '1' && text.trim() !== '' && <QueryPlan text={text} />}
      {fault && <ErrorState error={fault} />}
      <Warnings followed={followed} cost={cost} mode={mode} />
      {mode === 'stored' && stored.error && (stored.error.code !== 'bad_input' || place === null) && <ErrorState error={stored.error} onRetry={() => setReloads((n) => n + 1)} />}
      {(stored.loading || followed.state === 'joining') && <Skeleton rows={6} label="Running the query" />}
      {shown?.results && shown.outline && (shown.results.groups.length > 0 || shown.results.rows.length > 0) && (
        <QueryResults
          results={shown.results} outline={shown.outline} choice={choiceOf(params, shown.results, shown.outline)} group={params.get('group')}
          span={mode === 'live' && followed.untilNs > 0n ? { fromNs: followed.fromNs, untilNs: followed.untilNs } : null}
          range={mode === 'stored' ? storedRange : null}
          command={mode === 'live' ? `wherefore query --interval ${followed.query?.interval_ms ?? 1000}ms ${shellQuoted(followed.query?.query ?? '')}` : `wherefore query --stored${range.since === 'all' ? '' : ` --since ${range.since}`}${range.until ? ` --until ${range.until}` : ''} ${shellQuoted(urlText)}`}
        />
      )}
      {mode === 'live' && running && followed.results?.groups.length === 0 && followed.results.rows.length === 0 && <p className="banner query-waiting" role="status">No rows yet. Rows appear when a process reaches a tracepoint{now && now.processes.known === 0 ? '; no process is connected' : ''}.</p>}
      {((mode === 'live' && id === '') || (mode === 'stored' && urlText === '')) && <StarterQueries mode={mode} known={tracepoints} onChoose={setText} />}
      {mode === 'live' && queries && <StandingQueries queries={queries} current={followed.query?.id ?? ''} onRemove={(q) => void stop(q.id)} />}
      {token && <TokenDialog wrong={token.wrong} onGiven={() => void asAdmin(token.then)} onClose={() => setToken(null)} />}
    </div>
  )
}

// Choices that do not apply to another query text.
const RESET_CHOICES = { value: null, rows: null, cols: null, by: null, unit: null, view: null }

function storedParams(params: URLSearchParams): URLSearchParams {
  const { since, until } = rangeFromParams(params)
  const out = new URLSearchParams()
  if (since !== 'all') out.set('since', since)
  if (until) out.set('until', until)
  return out
}

function useStored(text: string, params: URLSearchParams, reloads: number): { results: Results | null; facts: string; error: ApiError | null; loading: boolean } {
  const range = storedParams(params)
  const { data, error, loading } = useAnswer(`stored ${range} ${text}`, reloads, async (signal) => {
    if (text === '') return null
    const answer = await queryStored(text, range, signal)
    const collected = new Collected(answer.columns, outline(text), 1n)
    collected.add(answer.rows, null, 0)
    return { results: collected.snapshot(), facts: `From ${count(answer.events, 'event')} ${rangePhrase(rangeFromParams(params))}${answer.modeled ? `; ${count(answer.modeled, 'trace')} read in full` : ''}.` }
  })
  return { results: data?.results ?? null, facts: data?.facts ?? '', error: text === '' ? null : error, loading: loading && text !== '' && !data }
}

function headlineOf(mode: Mode, followed: FollowedQuery, shown: { results: Results | null; outline: Outline | null } | null, params: URLSearchParams, loading: boolean): { text: string; quiet: boolean } {
  const results = shown?.results
  if (results && shown.outline && (results.groups.length > 0 || results.rows.length > 0)) {
    if (results.raw || results.values.length === 0) return { text: results.raw ? `${count(results.rows.length, 'row')}${results.rows.length >= 1000 ? ', newest only' : ''}` : count(results.groups.length, 'group'), quiet: false }
    const { value, unit } = choiceOf(params, results, shown.outline)
    return { text: sentence(results, value, unit), quiet: false }
  }
  if (followed.state === 'gone') return { text: followed.error?.code === 'not_found' ? 'That query has ended' : 'Could not follow the query', quiet: false }
  if (followed.state === 'running') return { text: 'Waiting for the first rows…', quiet: true }
  if (followed.state === 'ended') return { text: 'No rows while the query ran', quiet: false }
  if (loading || followed.state === 'joining') return { text: 'Running…', quiet: true }
  if (mode === 'stored' && results) return { text: 'No matching events', quiet: false }
  return { text: mode === 'live' ? 'Query the running system' : 'Query stored traces', quiet: false }
}

function LiveFacts({ followed, now, known }: { followed: FollowedQuery; now: LiveQuery | undefined; known: Tracepoint[] | null }) {
  const { query, state } = followed
  if (!query) {
    if (state === 'gone') return <span>{followed.error?.code === 'not_found' ? 'Run it again, or keep it as a standing query.' : followed.error?.message}</span>
    return <span>{known === null ? ' ' : known.length === 0 ? 'No process has reported a tracepoint.' : `${count(known.length, 'tracepoint')} available.`}</span>
  }
  const seen = Number(followed.untilNs - followed.fromNs)
  return (
    <>
      <span className={`query-state query-${state}`} role="status">{state === 'ended' ? 'ended' : state === 'retrying' ? 'connection lost, retrying' : now?.state === 'ending' ? 'ending' : 'running'}</span>
      {seen > 0 && <><span className="dot" /><span>{duration(Math.round(seen / 1e8) * 1e8)} of data, {duration(query.interval_ms * 1e6)} per interval</span></>}
      {state !== 'ended' && now && <><span className="dot" /><span>in {now.processes.told} of {count(now.processes.known, 'process', 'processes')}</span></>}
      {query.standing && <><span className="dot" /><span>standing</span></>}
    </>
  )
}

function Warnings({ followed, cost, mode }: { followed: FollowedQuery; cost: FollowedQuery['cost']; mode: Mode }) {
  if (mode !== 'live') return null
  const lost = Math.max(followed.results?.lost ?? 0, cost?.lost ?? 0)
  const overflowed = cost?.overflowed ?? 0
  return (
    <>
      {lost > 0 && <p className="banner banner-warn banner-line query-banner" role="status"><Icon name="warning" /> {count(lost, 'row')} missing: more than could be kept.</p>}
      {overflowed > 0 && <p className="banner banner-warn banner-line query-banner" role="status"><Icon name="warning" /> {count(overflowed, 'request')} carried more data than allowed and {overflowed === 1 ? 'is' : 'are'} marked as overflowed.</p>}
      {followed.notes.map((note) => <p key={note} className="banner banner-line query-banner"><Icon name="warning" /> {note}</p>)}
    </>
  )
}

function Choose({ label, value, options, onChange }: { label: string; value: string; options: [string, string][]; onChange: (value: string) => void }) {
  const all: [string, string][] = options.some(([v]) => v === value) ? options : [[value, value], ...options]
  return (
    <label className="choice">
      <span className="muted">{label}</span>
      <select value={value} onChange={(event) => onChange(event.target.value)}>{all.map(([v, name]) => <option key={v} value={v}>{name}</option>)}</select>
    </label>
  )
}
