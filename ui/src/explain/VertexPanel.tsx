import { useState } from 'react'
import type { ApiError } from '../api/client'
import { serviceColour } from '../parts/colours'
import { count, duration, exactNs, grouped, instantTitle, percent } from '../parts/format'
import { Icon } from '../parts/Icon'
import { ErrorState } from '../parts/states'
import { followInPage, setParams } from '../shell/router'
import { useTheme } from '../shell/theme'
import { Section } from '../trace/SpanPanel'
import { changeOf, typeMeaning, type Explanation, type Vertex, type Work } from './explain_model'
import { title } from './ExplainGraph'

interface Props {
  x: Explanation
  v: Vertex
  traceId: string
  open: boolean
  unfolding: boolean
  unfoldError: ApiError | null
  onToggle: () => void
  onWhatIf: (change: string) => void
  onClose: () => void
}

const SHOWN_AT_FIRST = 20

// One vertex: its delay, whose work it is, and links to its traces.
export function VertexPanel({ x, v, traceId, open, unfolding, unfoldError, onToggle, onWhatIf, onClose }: Props) {
  const theme = useTheme()
  if (v.steps.length > 0) return <StepsPanel v={v} onClose={onClose} />
  const here = v.work.find((w) => w.traceId === traceId && w.spanId)
  return (
    <section className="panel" aria-label="Selected step">
      <header className="panel-head">
        <span className="swatch" style={{ background: serviceColour(v.node, theme) }} />
        <h2 title={v.tuple}>{v.node} <span className="thin">{title(v)}</span></h2>
        <button type="button" className="icon-button small" title="Close (Esc)" aria-label="Close" onClick={onClose}><Icon name="close" size={14} /></button>
      </header>
      <div className="panel-body" tabIndex={0} role="region" aria-label="Facts about the step">
        <div className="facts">
          <div className="fact" title={exactNs(v.delay)}><span className="fact-label">delay</span><span className="fact-value">{duration(v.delay)} <span className="muted">{percent(v.delay, x.delay)}</span></span></div>
          <div className="fact" title={exactNs(v.own)}><span className="fact-label">own time</span><span className="fact-value">{duration(v.own)}</span></div>
          {v.usual !== null && <div className="fact" title={exactNs(v.usual)}><span className="fact-label">usual</span><span className="fact-value">{duration(v.usual)}</span></div>}
          <div className="fact"><span className="fact-label">{v.count > 1 ? 'first start to last end' : 'duration'}</span><span className="fact-value" title={exactNs(v.end - v.start)}>{duration(v.end - v.start)}</span></div>
        </div>
        <p className="note">
          {v.functional ? 'Part of this request.' : <>Not part of this request: {v.count > 1 ? 'work' : 'a piece of work'}{v.origin ? <> of <strong>{v.origin}</strong></> : null} that it waited for, directly or through another wait.</>}
          {' '}Own time is the delay that arose here; use what-if to see what a change would save.
        </p>
        {v.expired && <p className="note">Retention removed one of its causes, so the delay may have begun earlier.</p>}
        <Section title="Next">
          <p className="row">
            <button type="button" className="link-button" onClick={() => onWhatIf(changeOf(v))}>What if it took half as long?</button>
            {here && v.count === 1 && (
              <>
                <button type="button" className="link-button" onClick={() => setParams({ from: here.spanId, sel: null })}>Explain from here</button>
                <button type="button" className="link-button" onClick={() => setParams({ to: here.spanId, sel: null })}>Explain to here</button>
              </>
            )}
            {v.count > 1 && !v.restOf && <button type="button" className="link-button" title="Unfold in the graph (U)" aria-expanded={open} onClick={onToggle}>{unfolding ? 'Unfolding…' : `Unfold the ${grouped(v.count)} in the graph`}</button>}
            {v.restOf && <button type="button" className="link-button" onClick={onToggle}>Fold again</button>}
          </p>
        </Section>
        {unfoldError && <ErrorState error={unfoldError} />}
        <Traces work={v.work} traceId={traceId} />
        <Section title="Facts">
          <table className="kv">
            <tbody>
              <tr><th scope="row">kind</th><td>{typeMeaning(v.type)}</td></tr>
              <tr><th scope="row">where</th><td>{v.node}</td></tr>
              {v.origin && <tr><th scope="row">request from</th><td>{v.origin}</td></tr>}
              <tr><th scope="row">step</th><td>{v.tuple}</td></tr>
              {v.count > 1 && <tr><th scope="row">count</th><td>{grouped(v.count)}</td></tr>}
              <tr><th scope="row">start</th><td className="num" title={instantTitle(x.originNs + BigInt(v.start))}>+{duration(v.start)}</td></tr>
              <tr><th scope="row">end</th><td className="num" title={instantTitle(x.originNs + BigInt(v.end))}>+{duration(v.end)}</td></tr>
              <tr><th scope="row">id</th><td className="mono">{v.restOf ?? v.id}</td></tr>
            </tbody>
          </table>
        </Section>
      </div>
    </section>
  )
}

// A run of steps that took almost no time, each with a link.
function StepsPanel({ v, onClose }: { v: Vertex; onClose: () => void }) {
  return (
    <section className="panel" aria-label="Selected step">
      <header className="panel-head">
        <h2>{v.name} <span className="thin">with almost no own time</span></h2>
        <button type="button" className="icon-button small" title="Close (Esc)" aria-label="Close" onClick={onClose}><Icon name="close" size={14} /></button>
      </header>
      <div className="panel-body" tabIndex={0} role="region" aria-label="The steps">
        <ul className="plain">
          {v.steps.map((s) => (
            <li key={s.id} className="row">
              <button type="button" className="link-button" title="Show it in the graph" onClick={() => setParams({ all: '1', sel: s.id })}>{s.node} {s.name}</button>
              <span className="num muted" title={exactNs(s.own)}>own {duration(s.own)}</span>
            </li>
          ))}
        </ul>
      </div>
    </section>
  )
}

function Traces({ work, traceId }: { work: Work[]; traceId: string }) {
  const [all, setAll] = useState(false)
  if (work.length === 0) return null
  const traces = new Set(work.map((w) => w.traceId)).size
  const shown = all ? work : work.slice(0, SHOWN_AT_FIRST)
  return (
    <Section title={traces === 1 ? 'Trace' : count(traces, 'trace')}>
      <ul className="plain">
        {shown.map((w) => (
          <li key={`${w.traceId} ${w.spanId}`} className="row">
            <a className="mono" href={`/trace/${w.traceId}${w.spanId ? `?span=${w.spanId}` : ''}`} onClick={followInPage}>{w.traceId.slice(0, 12)}…{w.spanId && `/${w.spanId.slice(0, 8)}`}</a>
            {w.traceId === traceId ? <span className="muted">this request</span> : <a href={`/explain/${w.traceId}`} onClick={followInPage}>explain</a>}
          </li>
        ))}
      </ul>
      {work.length > shown.length && <button type="button" className="link-button" onClick={() => setAll(true)}>Show all {count(work.length, 'place')}</button>}
    </Section>
  )
}
