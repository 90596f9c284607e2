import type { Value } from '../api/queries'
import { useAnswer } from '../api/use_answer'
import { count, dateTime, duration, grouped } from '../parts/format'
import { Icon } from '../parts/Icon'
import { ErrorState, Skeleton } from '../parts/states'
import { followInPage } from '../shell/router'
import { examplesOf, type Examples, type Span } from './examples'
import { valueText } from './query_results'
import type { Item, Outline } from './query_text'

interface Props {
  outline: Outline
  keys: { item: Item; value: Value }[]
  span: Span | null
  // The time range of a query on stored traces.
  range: URLSearchParams | null
  onClose: () => void
}

// Traces of a group.
export function GroupExamples({ outline, keys, span, range, onClose }: Props) {
  const name = keys.map((k) => valueText(k.value)).join(' · ')
  // The time of a live query grows meanwhile; the traces stay those of the time of the click.
  const { data, error } = useAnswer(`examples ${outline.head} ${name} ${range ?? ''}`, 0, (signal) => examplesOf(outline, keys, span, range, signal))
  return (
    <section className="behind" aria-label="Example traces">
      <div className="behind-head">
        <p><strong>{name}</strong> · {data ? describe(data) : 'looking for traces…'}</p>
        {data?.kind === 'near' && <a className="button quiet" href={`/search?${data.search}`} onClick={followInPage}>Search for more</a>}
        {data?.kind === 'exact' && data.more > 0 && <span className="muted">and {grouped(data.more)} more</span>}
        <button type="button" className="icon-button small" aria-label="Close the examples" onClick={onClose}><Icon name="close" size={12} /></button>
      </div>
      {error && <ErrorState error={error} />}
      {!data && !error && <Skeleton rows={3} label="Looking for traces" />}
      {data?.kind === 'exact' && (
        <ul className="example-list">
          {data.traces.map((t) => <li key={t.id}><a className="mono" href={`/trace/${t.id}`} onClick={followInPage}>{t.id}</a> <span className="muted">{count(t.tuples, 'row')} of this group</span></li>)}
        </ul>
      )}
      {data?.kind === 'near' && data.traces.length > 0 && (
        <ul className="example-list">
          {data.traces.map((t) => <li key={t.id}><a href={`/trace/${t.id}`} onClick={followInPage}>{t.label}</a> <span className="num">{duration(t.durationNs)}</span> <span className="muted">{dateTime(t.startNs)}</span></li>)}
        </ul>
      )}
      {data?.kind === 'near' && data.traces.length === 0 && <p className="muted pad">A live query keeps rows, not traces. Traces appear here if the processes also send them, as OTLP or with libwherefore.</p>}
    </section>
  )
}

function describe(e: Examples): string {
  if (e.kind === 'none') return e.why
  if (e.kind === 'exact') return `the stored traces of this group, most rows first`
  const left = e.unused.length > 0 && e.traces.length > 0 ? `; the search cannot also filter by ${e.unused.join(' and ')}, so some may belong to other groups` : ''
  return `${e.traces.length > 0 ? 'stored traces' : 'no stored trace'} with ${e.used.join(' and ')} in that time range${left}`
}
