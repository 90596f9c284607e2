import { useMemo, useState } from 'react'
import { getGraph, getLineage, type Lineage, type RecordingGraph } from '../api/recordings'
import { useAnswer } from '../api/use_answer'
import { count, duration as durationText, exactNs } from '../parts/format'
import { Icon } from '../parts/Icon'
import { ErrorState } from '../parts/states'
import { endOf, objectLabel, placeText, type Lanes } from './lanes_model'

interface Props {
  id: string // of the recording
  graph: RecordingGraph
  lanes: Lanes
  duration: number
  selected: string
  question: string | null // whose lineage is shown
  onAsk: (question: string | null) => void
  onSelect: (id: string | null) => void
}

const PAGES_SHOWN = 24

// One sub-computation: its time, its wait, its neighbours in other threads, and where its data came from.
export function SubPanel({ id, graph, lanes, duration, selected, question, onAsk, onSelect }: Props) {
  const place = lanes.byId.get(selected)
  const data = graph.depth.includes('data')
  const pages = useAnswer(`pages ${id} ${selected} ${data}`, 0, async (signal) => {
    if (!data) return []
    const part = await getGraph(id, { around: selected, pages: 'true' }, signal)
    return part.sub_computations.find((sub) => sub.id === selected)?.write_pages ?? []
  })
  const edges = useMemo(() => graph.edges.filter((edge) => edge.kind !== 'control' && (edge.from === selected || edge.to === selected)), [graph, selected])
  const [all, setAll] = useState(false)
  if (!place) return null
  const { sub } = place
  const outputs = graph.outputs.filter((output) => output.sub_computation === selected)
  const inputs = graph.inputs.filter((input) => input.sub_computation === selected)
  const written = pages.data ?? []
  return (
    <aside className="sub-panel" aria-label={`Sub-computation ${selected}`}>
      <header>
        <h2>{selected} <span className="muted">of thread {sub.thread} {graph.threads.find((t) => t.id === sub.thread)?.name}</span></h2>
        <button type="button" className="icon-button" title="Close (Esc)" aria-label="Close" onClick={() => onSelect(null)}><Icon name="close" /></button>
      </header>
      <dl className="sub-facts">
        <dt>ran</dt><dd title={exactNs(endOf(sub, duration) - sub.start_ns)}>{durationText(endOf(sub, duration) - sub.start_ns)} <span className="muted">from {durationText(sub.start_ns)}</span></dd>
        {sub.sync?.op && <><dt>ended by</dt><dd><span className="mono">{sub.sync.op}</span> {objectLabel(graph, sub.sync.object)}</dd></>}
        {placeText(sub.sync?.site) && <><dt>at</dt><dd className="mono">{placeText(sub.sync?.site)}</dd></>}
        <dt>waited</dt><dd title={exactNs(sub.wait_ns)}>{sub.wait_ns > 0 ? durationText(sub.wait_ns) : 'no wait'}</dd>
        <dt>vector clock</dt><dd className="mono clock">[{sub.clock.length > 16 ? `${sub.clock.slice(0, 16).join(', ')}, …` : sub.clock.join(', ')}]</dd>
        {data && <><dt>pages</dt><dd>{count(sub.reads ?? 0, 'page')} touched, {sub.writes ?? 0} written</dd></>}
      </dl>
      {edges.length > 0 && (
        <section>
          <h3>Before and after, in other threads</h3>
          <ul className="edge-list">
            {edges.slice(0, all ? undefined : 20).map((edge, i) => {
              const other = edge.from === selected ? edge.to : edge.from
              return (
                <li key={i}>
                  <span className="muted">{edge.from === selected ? '→' : '←'}</span>{' '}
                  <button type="button" className="link-button mono" onClick={() => onSelect(other)}>{other}</button>{' '}
                  {edge.kind === 'sync' ? objectLabel(graph, edge.object) : `${count(edge.pages ?? 0, 'page')} of data, page-level`}
                </li>
              )
            })}
          </ul>
          {!all && edges.length > 20 && <button type="button" className="link-button" onClick={() => setAll(true)}>show all {edges.length}</button>}
        </section>
      )}
      {(inputs.length > 0 || outputs.length > 0) && (
        <section>
          <h3>Inputs and outputs</h3>
          <ul className="edge-list">
            {[...inputs.map((t) => ({ ...t, out: false })), ...outputs.map((t) => ({ ...t, out: true }))].slice(0, 40).map((t, i) => (
              <li key={i}>
                <span className="muted">{t.out ? 'out' : 'in'}</span> <span className="mono">{t.name}</span> bytes {t.range[0]}–{t.range[1]}{' '}
                <button type="button" className="link-button" onClick={() => onAsk(`${t.out ? 'of' : 'from'}=${t.name}:${t.range[0]}-${t.range[1]}`)}>{t.out ? 'where from?' : 'where to?'}</button>
              </li>
            ))}
          </ul>
        </section>
      )}
      {data && (
        <section>
          <h3>Pages written</h3>
          {pages.error && <p className="muted">{pages.error.message}</p>}
          {!pages.loading && !pages.error && written.length === 0 && <p className="muted">None.</p>}
          <ul className="edge-list">
            {written.slice(0, PAGES_SHOWN).map((page) => (
              <li key={page}>
                <span className="mono">{page}</span> <button type="button" className="link-button" onClick={() => onAsk(`address=${page}&at=${selected}`)}>where from?</button>
              </li>
            ))}
          </ul>
          {written.length > PAGES_SHOWN && <p className="muted">and {count(written.length - PAGES_SHOWN, 'page')} more</p>}
        </section>
      )}
      {question && <LineageAnswer id={id} question={question} onClose={() => onAsk(null)} onSelect={onSelect} />}
    </aside>
  )
}

export function lineageParams(question: string): Record<string, string> {
  const out: Record<string, string> = {}
  for (const part of question.split('&')) {
    const at = part.indexOf('=')
    if (at > 0) out[part.slice(0, at)] = part.slice(at + 1)
  }
  return out
}

export const useLineage = (id: string, question: string | null) =>
  useAnswer<Lineage | null>(`lineage ${id} ${question}`, 0, async (signal) => (question ? getLineage(id, lineageParams(question), signal) : null))

function LineageAnswer({ id, question, onClose, onSelect }: { id: string; question: string; onClose: () => void; onSelect: (id: string) => void }) {
  const { data, error } = useLineage(id, question)
  const ends = data?.sources ?? data?.sinks ?? []
  const params = lineageParams(question)
  return (
    <section className="lineage" aria-live="polite">
      <h3>
        {params.from ? `Where ${params.from} went` : `Where ${params.of ?? params.address} came from`}{' '}
        <button type="button" className="icon-button small" aria-label="Close the lineage" onClick={onClose}><Icon name="close" size={12} /></button>
      </h3>
      {error && <ErrorState error={error} />}
      {data && (
        <>
          <p>{ends.length === 0 ? data.sinks ? 'No output of the program' : 'No input of the program' : count(ends.length, data.sinks ? 'output' : 'input')}, through {count(data.sub_computations.length, 'sub-computation')}.</p>
          <ul className="edge-list">
            {ends.map((end, i) => <li key={i}><span className="mono">{end.name}</span> {end.ranges.map(([a, b]) => `${a}–${b}`).join(', ')}{end.unordered && <span className="tag tag-quiet" title="Found only through accesses without synchronization"> unordered</span>}</li>)}
          </ul>
          <p className="through">{data.sub_computations.slice(0, 60).map((sub) => <button key={sub.id} type="button" className="link-button mono" onClick={() => onSelect(sub.id)}>{sub.id}{sub.unordered ? '?' : ''}</button>)}{data.sub_computations.length > 60 && ' …'}</p>
        </>
      )}
    </section>
  )
}
