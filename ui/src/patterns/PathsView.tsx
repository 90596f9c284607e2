import { useEffect, useMemo, useState } from 'react'
import { getPaths, pathsPath, type ConvolutionAnswer, type PathsAnswer } from '../api/paths'
import { ns } from '../api/exact_json'
import { useAnswer } from '../api/use_answer'
import { registerServices } from '../parts/colours'
import { clockTime, count, duration, grouped, percent } from '../parts/format'
import { Icon } from '../parts/Icon'
import { CopyButton, ErrorState, Skeleton } from '../parts/states'
import { rangeFromParams, rangePhrase, type TimeRange } from '../search/time_range'
import { TimeRangePicker } from '../search/TimeRangePicker'
import { setParams, useRoute } from '../shell/router'
import { onImported } from '../upload/Upload'
import { GraphTable } from './GraphTable'
import { NoMessages } from './NoMessages'
import { PathGraph } from './PathGraph'
import { convolutionGraph, mergedGraph } from './path_graph'
import { commandFor, pathsQuery } from './paths_query'
import { DEFAULT_TOP, instant, parseUsualRange, STANDARD_RANGE } from './paths_state'
import { PatternDetail } from './PatternDetail'
import { bestSplit, clusters, decodePattern, decodePatterns, nodeDifferences, timeSpans, type Population, type Sort } from './patterns_model'
import { PatternTable } from './PatternTable'
import { WindowForm } from './WindowForm'
import { WindowStrip } from './WindowStrip'

type Loaded = { convolution: ConvolutionAnswer; population: null } | { convolution: null; population: Population }

function load(answer: PathsAnswer): Loaded {
  if (answer.algorithm === 'convolution') {
    registerServices(answer.vertices.map((v) => v.node))
    return { convolution: answer, population: null }
  }
  registerServices((answer.graph?.nodes ?? []).map((n) => n.node))
  return { convolution: null, population: decodePatterns(answer) }
}

function usePaths(query: URLSearchParams | null, reloads: number) {
  return useAnswer<Loaded | null>(query ? `paths ${query}` : '', reloads, async (signal) => {
    if (!query) return null
    const wanted = new URLSearchParams(query)
    wanted.set('histogram', 'true')
    return load(await getPaths(wanted, signal))
  })
}

const ALGORITHMS: [string, string, string][] = [
  ['', 'auto', 'Linking, or convolution if messages have no returns'],
  ['linking', 'linking', 'Finds a parent for each call, weighing all calls together: most accurate per request'],
  ['nesting', 'nesting', 'Finds a parent for each call from the most frequent delays: fast'],
  ['convolution', 'convolution', 'Finds delays shared by many messages; works for one-way messages'],
]

// Causal paths inferred from stored messages, for systems without instrumentation.
export function PathsView() {
  const { params } = useRoute()
  const [reloads, setReloads] = useState(0)
  const range = rangeFromParams(params, STANDARD_RANGE)
  const usualRange = parseUsualRange(params)
  const query = pathsQuery(params, range)
  const { data, error, loading } = usePaths(query, reloads)
  const base = usePaths(usualRange && pathsQuery(params, usualRange), reloads)
  const comparing = usualRange !== null
  const before = base.data?.population ?? null
  const waiting = loading || (comparing && base.loading)
  const empty = error?.code === 'not_found'
  useEffect(() => {
    document.title = 'Paths · wherefore'
    return onImported(() => setReloads((n) => n + 1))
  }, [])
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || (event.target instanceof HTMLElement && event.target.closest('input, textarea, select, dialog'))) return
      if (event.key === '1') setParams({ view: null, node: null })
      else if (event.key === '2') setParams({ view: 'graph', node: null })
      else if (event.key === '3') setParams({ view: 'table', node: null })
      else if (event.key === 'Escape') setParams({ node: null })
      else return
      event.preventDefault()
    }
    window.addEventListener('keydown', onKey)
    return () => window.removeEventListener('keydown', onKey)
  }, [])
  const ready = data && (!comparing || base.data || base.error)
  return (
    <div className="explain paths">
      <header className="search-head">
        <div className="answer">
          <h1 className={waiting && !ready ? 'muted' : ''}>{empty ? (range.since === 'all' && !range.until ? 'No messages yet' : `No messages ${rangePhrase(range)}`) : error ? 'Could not infer the paths' : !ready ? 'Inferring paths…' : sentence(data, before)}</h1>
          {ready && <Facts data={data} phrase={comparing ? '' : ` ${rangePhrase(range)}`} />}
        </div>
        {!comparing && <TimeRangePicker key={`${range.since} ${range.until}`} range={range} standard={STANDARD_RANGE} />}
      </header>
      {error && !empty && !data && <ErrorState error={error} onRetry={() => setReloads((n) => n + 1)}>{params.has('algorithm') && <button type="button" className="button" onClick={() => setParams({ algorithm: null })}>Choose the algorithm automatically</button>}</ErrorState>}
      {empty && <NoMessages all={range.since === 'all' && !range.until} />}
      {waiting && !ready && !error && <Waiting algorithm={params.get('algorithm')} />}
      {comparing && base.error && <p className="banner banner-warn banner-line"><Icon name="warning" /> Usual window: {base.error.message}. <button type="button" className="link-button" onClick={() => setParams({ normal: null })}>Stop comparing</button></p>}
      {ready && data.population && <Patterns population={data.population} before={before} params={params} range={range} usualRange={usualRange} query={query} />}
      {ready && data.convolution && <Convolution answer={data.convolution} params={params} query={query} />}
    </div>
  )
}

function sentence(data: Loaded, before: Population | null): string {
  if (data.convolution) {
    const { edges, vertices } = data.convolution
    const first = [...edges].sort((a, b) => b.count - a.count)[0]
    if (!first) return 'No delay is frequent enough for a path'
    const name = (id: number) => vertices.find((v) => v.id === id)?.node ?? '?'
    return `${count(edges.length, 'edge')} between ${count(new Set(vertices.map((v) => v.node)).size, 'node')}; most messages go from ${name(first.from)} to ${name(first.to)}${first.delays_ns[0] ? `, ${duration(Number(ns(first.delays_ns[0].delay)))} later` : ''}`
  }
  const { population } = data
  const top = population.shares[0]
  if (population.paths === 0 || !top) return 'No call has a return, so there is no path to show'
  if (!before) return `${top.node} adds most: ${duration(top.perPath)} of the ${duration(population.mean)} a request takes (${percent(top.perPath, population.mean)})`
  const more = population.mean - before.mean
  const [first] = nodeDifferences(before, population)
  if (Math.abs(more) < before.mean * 0.01) return `Requests take as long as usual: mean ${duration(population.mean)}`
  if (more < 0) return `Requests take ${duration(-more)} less than usual: mean ${duration(population.mean)}, usual ${duration(before.mean)}`
  return `Requests take ${duration(more)} more than usual (mean ${duration(population.mean)}, usual ${duration(before.mean)}): ${first!.node} adds ${duration(first!.slow - first!.usual)} of it`
}

function Facts({ data, phrase }: { data: Loaded; phrase: string }) {
  if (data.convolution) return <p className="facts-line">Convolution with bins of {duration(Number(ns(data.convolution.quantum_ns)))}{data.convolution.messages !== undefined && `, from ${count(data.convolution.messages, 'message')}`}: {data.convolution.why}</p>
  const { answer, paths, patterns } = data.population
  const lost = answer.unassigned.calls + answer.unassigned.returns
  return (
    <p className="facts-line">
      <span>{count(paths, 'request')}{phrase}, {count(patterns.length + answer.omitted.patterns, 'pattern')}, from {count(answer.messages, 'message')}</span>
      <span className="dot" /><span title={answer.why}>by {answer.algorithm}</span>
      <span className="dot" /><span title="Mean number of calls that could have caused each call; higher means less certain">parallelism {Number(answer.parallelism.toPrecision(3))}</span>
      {lost > 0 && <><span className="dot" /><span className="bad" title={`${count(answer.unassigned.calls, 'call')} without a return, ${count(answer.unassigned.returns, 'return')} without a call`}>{grouped(lost)} unpaired</span></>}
      {answer.unassigned.msgs > 0 && <><span className="dot" /><span>{count(answer.unassigned.msgs, 'one-way message')} left out</span></>}
      {(answer.notes ?? []).map((note) => <span key={note}><span className="dot" />{note}</span>)}
    </p>
  )
}

// Linking weighs all calls of a window together, which can take long, so this offers a faster way.
function Waiting({ algorithm }: { algorithm: string | null }) {
  const [seconds, setSeconds] = useState(0)
  useEffect(() => {
    const timer = setInterval(() => setSeconds((s) => s + 1), 1000)
    return () => clearInterval(timer)
  }, [])
  return (
    <>
      {seconds >= 2 && (
        <p className="banner banner-line" role="status">
          <span>{seconds} s so far</span>
          {algorithm !== 'nesting' && <button type="button" className="link-button" onClick={() => setParams({ algorithm: 'nesting' })}>Use nesting (faster)</button>}
          <button type="button" className="link-button" onClick={() => setParams({ since: '15m', until: null, normal: null })}>Only the last 15 minutes</button>
        </p>
      )}
      <Skeleton rows={12} label="Inferring paths" />
    </>
  )
}

interface PatternsProps {
  population: Population
  before: Population | null
  params: URLSearchParams
  range: TimeRange
  usualRange: TimeRange | null
  query: URLSearchParams
}

function Patterns({ population, before, params, range, usualRange, query }: PatternsProps) {
  const view = params.get('view') ?? 'patterns'
  const sort: Sort = params.get('sort') === 'count' ? 'count' : 'total'
  // Rare slow patterns would be hard to find among all, so they have their own list.
  const rare = useMemo(() => (population.answer.rare_slow ?? []).map(decodePattern), [population])
  const onlyRare = params.get('rare') === '1' && rare.length > 0
  const patterns = onlyRare ? rare : population.patterns
  const list = useMemo(() => clusters(patterns, sort), [patterns, sort])
  const chosen = patterns.find((p) => p.id === params.get('pattern')) ?? list[0]?.patterns[0] ?? null
  const openText = params.get('open') ?? chosen?.shape ?? ''
  const open = useMemo(() => new Set(openText.split(',')), [openText])
  const usual = useMemo(() => before && new Map(before.patterns.map((p) => [p.id, p])), [before])
  const spans = useMemo(() => timeSpans(population.answer), [population])
  const usualSpans = useMemo(() => before && timeSpans(before.answer), [before])
  const phases = useMemo(() => new Map((population.answer.phases ?? []).map((p) => [p.id, `only ${clockTime(ns(p.from_ns)).slice(0, 8)} – ${clockTime(ns(p.until_ns)).slice(0, 8)}`])), [population])
  const compare = (slow: [bigint, bigint]) => {
    const start = spans[0]!.fromNs
    const end = spans.at(-1)!.untilNs
    // The slow part is compared with the longer of the parts before and after it.
    const rest: [bigint, bigint] = slow[0] - start >= end - slow[1] ? [start, slow[0]] : [slow[1], end]
    setParams({ since: instant(slow[0]), until: instant(slow[1]), normal: rest.map(instant).join('~'), node: null }, 'push')
  }
  const split = comparingSplit(spans)
  return (
    <>
      {usualRange && (
        <div className="path-controls explain-controls">
          <WindowForm
            key={params.toString()} slow={range} usual={usualRange}
            onApply={(slow, usually) => setParams({ since: slow.since, until: slow.until, normal: `${usually.since}~${usually.until ?? ''}`, node: null }, 'push')}
            onStop={() => setParams({ normal: null, since: null, until: null }, 'push')}
          />
        </div>
      )}
      <WindowStrip spans={spans} usual={usualSpans} onOnly={(from, until) => setParams({ since: instant(from), until: instant(until), normal: null, node: null }, 'push')} onCompare={(from, until) => compare([from, until])} />
      <Toolbar view={view} sort={sort} params={params} query={query} population={population}>
        {rare.length > 0 && view === 'patterns' && (
          <button type="button" className="button" aria-pressed={onlyRare} title="At most 1 % of the requests from one client to one node, and at least twice as slow as usual" onClick={() => setParams({ rare: onlyRare ? null : '1', pattern: null, node: null, open: null })}>
            {onlyRare && <Icon name="check" size={14} />} {grouped(rare.length)} rare and slow
          </button>
        )}
        {!usualRange && (
          <button type="button" className="button" disabled={!split} title={split ? 'Compare the slower part of this time range with the rest; or drag over the bars above' : 'Too short to split'} onClick={() => split && compare(split)}>
            <Icon name="compare" size={14} /> Compare slow with usual
          </button>
        )}
      </Toolbar>
      {view === 'patterns' ? (
        <div className="paths-split">
          <PatternTable list={list} total={list.reduce((s, c) => s + c.total, 0)} open={open} chosen={chosen} usual={usual} phases={phases} />
          {chosen && <PatternDetail key={chosen.id} pattern={chosen} usual={usual?.get(chosen.id) ?? null} comparing={before !== null} selected={params.get('node')} />}
        </div>
      ) : (
        <GraphOrTable view={view} graph={mergedGraph(population.answer)} params={params} caption={sentence({ convolution: null, population }, before)} />
      )}
      <Foot query={query} />
    </>
  )
}

function comparingSplit(spans: ReturnType<typeof timeSpans>): [bigint, bigint] | null {
  const at = bestSplit(spans)
  if (at === null) return null
  const mean = (part: typeof spans) => part.reduce((s, x) => s + x.latency * x.count, 0) / Math.max(1, part.reduce((s, x) => s + x.count, 0))
  const border = spans[at]!.fromNs
  return mean(spans.slice(0, at)) > mean(spans.slice(at)) ? [spans[0]!.fromNs, border] : [border, spans.at(-1)!.untilNs]
}

function GraphOrTable({ view, graph, params, caption }: { view: string; graph: ReturnType<typeof mergedGraph>; params: URLSearchParams; caption: string }) {
  if (view === 'table') return <GraphTable graph={graph} onSelect={(id) => setParams({ view: 'graph', node: id })} />
  return <PathGraph graph={graph} caption={caption} selected={params.get('node')} onSelect={(id) => setParams({ node: id })} />
}

function Convolution({ answer, params, query }: { answer: ConvolutionAnswer; params: URLSearchParams; query: URLSearchParams }) {
  const graph = useMemo(() => convolutionGraph(answer), [answer])
  const view = params.get('view') === 'table' ? 'table' : 'graph'
  return (
    <>
      <Toolbar view={view} sort={null} params={params} query={query} population={null} />
      <GraphOrTable view={view} graph={graph} params={params} caption={sentence({ convolution: answer, population: null }, null)} />
      <Foot query={query} />
    </>
  )
}

function Toolbar({ view, sort, params, query, population, children }: { view: string; sort: Sort | null; params: URLSearchParams; query: URLSearchParams; population: Population | null; children?: React.ReactNode }) {
  const show = (name: string | null) => setParams({ view: name, node: null })
  const as = (format: string) => {
    const wanted = new URLSearchParams(query)
    wanted.set('format', format)
    return pathsPath(wanted)
  }
  const omitted = population?.answer.omitted.patterns ?? 0
  return (
    <div className="toolbar" role="toolbar" aria-label="Paths">
      <div className="segmented" role="group" aria-label="View">
        {sort && <button type="button" aria-pressed={view === 'patterns'} title="Patterns (1)" onClick={() => show(null)}><Icon name="path" size={14} /> Patterns</button>}
        <button type="button" aria-pressed={view === 'graph'} title="Graph (2)" onClick={() => show('graph')}><Icon name="map" size={14} /> Graph</button>
        <button type="button" aria-pressed={view === 'table'} title="Table (3)" onClick={() => show('table')}><Icon name="table" size={14} /> Table</button>
      </div>
      {sort && (
        <label className="row">sort by <select aria-label="Order" value={sort} onChange={(event) => setParams({ sort: event.target.value === 'count' ? 'count' : null })}><option value="total">total latency</option><option value="count">requests</option></select></label>
      )}
      <label className="row">algorithm <select aria-label="Algorithm" value={params.get('algorithm') ?? ''} onChange={(event) => setParams({ algorithm: event.target.value || null, view: null, node: null, pattern: null }, 'push')}>{ALGORITHMS.map(([value, name, title]) => <option key={value} value={value} title={title}>{name}</option>)}</select></label>
      {omitted > 0 && <button type="button" className="link-button" onClick={() => setParams({ top: String(Number(params.get('top') ?? DEFAULT_TOP) * 10) })}>{count(omitted, 'more pattern')}</button>}
      {children}
      <span className="spring" />
      <a className="button quiet" href={as('dot')} download="paths.dot"><Icon name="download" size={14} /> DOT</a>
      <a className="button quiet" href={as('svg')} download="paths.svg"><Icon name="download" size={14} /> SVG</a>
    </div>
  )
}

function Foot({ query }: { query: URLSearchParams }) {
  return (
    <footer className="path-foot explain-foot">
      <span className="command"><code>{commandFor(query)}</code><CopyButton text={commandFor(query)} label="Copy the command" /></span>
      <span className="muted">Inferred from messages alone; each inferred trace shows its probability.</span>
    </footer>
  )
}
