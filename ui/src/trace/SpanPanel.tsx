import type { ReactNode } from 'react'
import { getSpan } from '../api/client'
import { ns, showExact } from '../api/exact_json'
import type { BlockDetail, SpanAnswer } from '../api/types'
import { useAnswer } from '../api/use_answer'
import { serviceColour } from '../parts/colours'
import { clockTime, count, duration, exactNs, instantTitle, percent } from '../parts/format'
import { Icon } from '../parts/Icon'
import { CopyButton, ErrorState, Skeleton } from '../parts/states'
import { verdictWords } from '../parts/verdict'
import { followInPage, setParams } from '../shell/router'
import { useTheme } from '../shell/theme'
import { repairMeaning } from './answer_sentence'
import { AttributeTable, Value } from './AttributeTable'
import { timeOnPath, type PathModel } from './path_model'
import { propertiesOf } from './property_groups'
import { PropertyGroups } from './PropertyGroups'
import { Asynchronous, Inferred, StandIn, type Clock, type Waterfall } from './waterfall_model'

interface Props {
  w: Waterfall
  path: PathModel | null
  block: number
  clock: Clock
  onClose: () => void
  onZoom: () => void
  onSelect: (block: number) => void
}

// Facts about the selected span: those the waterfall has at once, the rest when the server answers.
export function SpanPanel({ w, path, block, clock, onClose, onZoom, onSelect }: Props) {
  const theme = useTheme()
  const spanId = w.spanId[block]!
  const { data, error, loading } = useAnswer(`${w.traceId} ${spanId}`, 0, (signal) => getSpan(w.traceId, spanId, signal))
  const { start, duration: length, from, to } = w.times[clock]
  const service = w.strings[w.service[block]!]!
  const parent = w.parent[block]!
  const flags = w.flags[block]!
  return (
    <section className="panel" aria-label="Selected span">
      <header className="panel-head">
        <span className="swatch" style={{ background: (flags & StandIn) !== 0 ? 'var(--muted)' : serviceColour(service, theme) }} />
        <h2 title={w.strings[w.name[block]!]}>
          {service} <span className="thin">{w.strings[w.name[block]!]}</span>
        </h2>
        <a className="icon-button small" title="Explain this span, including the work of other requests" aria-label="Explain this span" href={`/explain/${w.traceId}?from=${spanId}%3Astart&to=${spanId}%3Aend`} onClick={followInPage}>
          <Icon name="why" size={14} />
        </a>
        <button type="button" className="icon-button small" title="Zoom to this span (F)" aria-label="Zoom to this span" onClick={onZoom}>
          <Icon name="search" size={14} />
        </button>
        <button type="button" className="icon-button small" title="Close (Esc)" aria-label="Close" onClick={onClose}>
          <Icon name="close" size={14} />
        </button>
      </header>
      <div className="panel-body" tabIndex={0} role="region" aria-label="Facts about the span">
        <div className="facts">
          <Fact label="duration" title={exactNs(length[block]!)}>{duration(length[block]!)}</Fact>
          <Fact label="own time" title={exactNs(w.own[block]!)}>
            {duration(w.own[block]!)} <span className="muted">{percent(w.own[block]!, length[block]!)}</span>
          </Fact>
          <Fact label="starts at" title={exactNs(start[block]! - from)}>
            {duration(start[block]! - from)} <span className="muted">of {duration(to - from)}</span>
          </Fact>
          <Fact label="status">
            {w.status[block] === 2 ? <span className="bad">▲ error</span> : w.status[block] === 1 ? 'ok' : 'unset'}
          </Fact>
        </div>
        {(flags & StandIn) !== 0 && <p className="note">This span never arrived. It is a placeholder for the parent that its children name.</p>}
        {(flags & Inferred) !== 0 && (flags & StandIn) === 0 && <p className="note">Inferred from messages alone; no program reported it.{data?.blocks[0]?.probability !== undefined && <> Its caller is right with a probability of <strong>{probable(data.blocks[0].probability)}</strong>.</>}</p>}
        {(flags & Asynchronous) !== 0 && <p className="note">Asynchronous: its parent does not wait for it.</p>}
        <OnPath w={w} path={path} block={block} />
        {error && !data && <ErrorState error={error} />}
        {loading && !data && <Skeleton rows={6} label="Loading the span" />}
        {data && data.blocks[0] && <Details w={w} answer={data} block={data.blocks[0]} />}
        <Section title="Next">
          <a href={`/search?${new URLSearchParams({ service, operation: w.strings[w.name[block]!]!, since: 'all' })}`} onClick={followInPage}>
            Other traces with this operation
          </a>
          <p className="row">
            <a href={`/explain/${w.traceId}?from=${spanId}`} onClick={followInPage}>Explain from here</a>
            <a href={`/explain/${w.traceId}?to=${spanId}`} onClick={followInPage}>Explain to here</a>
          </p>
        </Section>
        {parent >= 0 && (
          <Section title="Parent">
            <button type="button" className="link-button" onClick={() => onSelect(parent)}>
              {w.strings[w.service[parent]!]} {w.strings[w.name[parent]!]}
            </button>
          </Section>
        )}
      </div>
    </section>
  )
}

const probable = (p: number): string => (p >= 0.995 ? (p === 1 ? '100 %' : 'over 99 %') : percent(p, 1))

// The span's time on the critical path, and links for the path from and to it.
function OnPath({ w, path, block }: { w: Waterfall; path: PathModel | null; block: number }) {
  const times = path ? timeOnPath(path, block) : []
  const id = w.spanId[block]!
  return (
    <Section title="Critical path">
      {path && (
        <p>
          {times.length === 0
            ? 'None of its own time is on the path, so making it faster would not help.'
            : times.map(([verdict, total]) => `${duration(total)} ${verdictWords(verdict)}`).join(', ') + ` (${percent(times.reduce((s, [, t]) => s + t, 0), path.to - path.from)} of the path)`}
        </p>
      )}
      <p className="row">
        <button type="button" className="link-button" title="The path from this span’s start ([)" onClick={() => setParams({ from: id })}>Path from here</button>
        <button type="button" className="link-button" title="The path to this span’s end (])" onClick={() => setParams({ to: id })}>Path to here</button>
        <button type="button" className="link-button" onClick={() => setParams({ view: 'path', what_if: `span/${id}=0.5x` })}>What if it took half as long?</button>
      </p>
    </Section>
  )
}

function Fact({ label, title, children }: { label: string; title?: string; children: ReactNode }) {
  return (
    <div className="fact" title={title}>
      <span className="fact-label">{label}</span>
      <span className="fact-value">{children}</span>
    </div>
  )
}

export function Section({ title, extra, children }: { title: string; extra?: ReactNode; children: ReactNode }) {
  return (
    <section className="section">
      <h3>
        {title} {extra}
      </h3>
      {children}
    </section>
  )
}

function Details({ w, answer, block }: { w: Waterfall; answer: SpanAnswer; block: BlockDetail }) {
  const attributes = block.attributes ?? {}
  const unit = answer.units.find((u) => u.id === block.unit) ?? answer.units[0]
  const process = answer.processes?.[unit?.process ?? 0] ?? answer.processes?.[0]
  const isSample = (p: SpanAnswer['points'][number]) => p.annotations?.some((a) => a.kind === 'stack') ?? false
  const points = answer.points.filter((p) => p.type !== 'begin' && p.type !== 'end' && !isSample(p))
  const samples = answer.points.filter(isSample).length
  const rawStart = ns(block.raw_start_ns)
  const start = ns(block.start_ns)
  const moved = start - rawStart
  return (
    <>
      {block.status_message && (
        <Section title="Status message">
          <p className={block.status === 'error' ? 'bad' : ''}>{block.status_message}</p>
        </Section>
      )}
      <PropertyGroups properties={propertiesOf(block, process)} />
      <Section title="Attributes" extra={<CopyButton text={showExact(attributes, 2)} label="Copy attributes as JSON" />}>
        <AttributeTable attributes={attributes} empty="none" searchable />
      </Section>
      {points.length > 0 && (
        <Section title={`Events (${points.length})`}>
          <ul className="plain">
            {points.slice(0, 100).map((p) => (
              <li key={p.id}>
                <span className="num muted" title={instantTitle(ns(p.time_ns))}>
                  +{duration(Number(ns(p.time_ns) - start))}
                </span>{' '}
                {p.name || p.type}
                {p.attributes && Object.keys(p.attributes).length > 0 && <AttributeTable attributes={p.attributes} empty="" />}
                {p.annotations?.map((a, i) => <div key={i} className="small"><span className="muted">{a.kind}</span> {a.name} <Value value={a.value} /> {a.unit}</div>)}
              </li>
            ))}
          </ul>
        </Section>
      )}
      {samples > 0 && (
        <Section title="Stack samples">
          <button type="button" className="link-button" onClick={() => setParams({ view: 'flame', unit: block.unit, frame: null, ft: null })}>{count(samples, 'sample')} in the flame chart</button>
        </Section>
      )}
      {block.annotations && block.annotations.length > 0 && (
        <Section title="Annotations">
          <ul className="plain">
            {block.annotations.map((a, i) => (
              <li key={i}>
                <span className="muted">{a.kind}</span> {a.name} <Value value={a.value} /> {a.unit}
              </li>
            ))}
          </ul>
        </Section>
      )}
      {block.links && block.links.length > 0 && (
        <Section title="Links">
          <ul className="plain">
            {block.links.map((l, i) => (
              <li key={i}>
                <a className="mono" href={`/trace/${l.trace_id}?span=${l.span_id}`} onClick={followInPage}>
                  {l.trace_id.slice(0, 8)}…/{l.span_id}
                </a>
                {l.attributes && Object.keys(l.attributes).length > 0 && <AttributeTable attributes={l.attributes} empty="" />}
              </li>
            ))}
          </ul>
        </Section>
      )}
      {answer.repairs.length > 0 && (
        <Section title="Repairs">
          <ul className="plain">
            {answer.repairs.map((r, i) => (
              <li key={i}>
                <span className="mono">{r.pass}</span> <span className="muted">{repairMeaning(r.pass)}</span>
                <br />
                <span className="mono small">{showExact(r.before)} → {showExact(r.after)}</span>
              </li>
            ))}
          </ul>
        </Section>
      )}
      <Section title="Time">
        <table className="kv">
          <tbody>
            <TimeRow label="start, aligned" value={start} />
            <TimeRow label="end, aligned" value={ns(block.end_ns)} />
            <TimeRow label="start, raw" value={rawStart} />
            <TimeRow label="end, raw" value={ns(block.raw_end_ns)} />
            {block.received_ns !== undefined && ns(block.received_ns) !== 0n && <TimeRow label="received" value={ns(block.received_ns)} />}
          </tbody>
        </table>
        <p className="muted small">
          {moved === 0n ? 'This host’s clock was not adjusted' : `This host’s clock was adjusted by ${duration(Number(moved))}`}
          {w.clockErrorNs > 0 ? `, ± ${duration(w.clockErrorNs)}.` : '.'}
        </p>
      </Section>
      <Section title="Process">
        <AttributeTable
          attributes={{
            service: block.service,
            ...(unit?.host ? { host: unit.host } : {}),
            ...(unit?.thread ? { thread: unit.thread } : {}),
            ...(process?.attributes ?? {}),
          }}
          empty="unknown"
        />
      </Section>
      {block.scope && (block.scope.name || block.scope.version) && (
        <Section title="Scope">
          <AttributeTable attributes={{ name: block.scope.name, version: block.scope.version, ...(block.scope.attributes ?? {}) }} empty="" />
        </Section>
      )}
      <Section title="Identity">
        <table className="kv">
          <tbody>
            <IdRow label="span id" value={block.span_id} />
            {block.parent_id && <IdRow label="parent id" value={block.parent_id} />}
            <IdRow label="trace id" value={answer.trace_id} />
            <tr><th scope="row">kind</th><td>{block.kind}</td></tr>
            {block.source && <tr><th scope="row">source</th><td>{block.source}{block.probability !== undefined && block.probability < 1 ? `, probability ${block.probability}` : ''}</td></tr>}
            {block.tracestate && <tr><th scope="row">tracestate</th><td className="mono">{block.tracestate}</td></tr>}
          </tbody>
        </table>
      </Section>
    </>
  )
}

function TimeRow({ label, value }: { label: string; value: bigint }) {
  return (
    <tr>
      <th scope="row">{label}</th>
      <td className="num" title={instantTitle(value)}>
        {clockTime(value)}<span className="muted">{String(value % 1_000_000n).padStart(6, '0')}</span>{' '}
        <CopyButton text={value.toString()} label={`Copy ${label} in ns`} />
      </td>
    </tr>
  )
}

function IdRow({ label, value }: { label: string; value: string }) {
  return (
    <tr>
      <th scope="row">{label}</th>
      <td className="mono">
        {value} <CopyButton text={value} label={`Copy ${label}`} />
      </td>
    </tr>
  )
}
