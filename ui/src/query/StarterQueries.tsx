import type { Tracepoint } from '../api/queries'
import { Command, EmptyState } from '../parts/states'
import type { Mode } from './query_completion'
import { quoteName } from './query_text'

const name = (t: Tracepoint, mode: Mode) => (mode === 'stored' && t.name.endsWith('.end') ? `${quoteName(t.name.slice(0, -4))}.end` : quoteName(t.name))

// Example queries on tracepoints that exist here.
function starterQueries(mode: Mode, known: Tracepoint[]): [string, string][] {
  if (mode === 'stored') {
    const end = known.find((t) => t.name.endsWith('.end'))
    if (!end) return []
    return [
      ['Count and average duration by process and host', `From x In ${name(end, mode)}\nGroupBy x.procName, x.host\nSelect x.procName, x.host, COUNT, AVERAGE(x.duration)`],
      ['Count over time', `From x In ${name(end, mode)}\nWindow 1m\nGroupBy x.procName\nSelect x.procName, COUNT`],
    ]
  }
  const rich = known.find((t) => t.exports.length > 0) ?? known[0]
  if (!rich) return []
  const other = known.find((t) => t !== rich)
  return [
    ['Count by process and host', `From x In ${name(rich, mode)}\nGroupBy x.procName, x.host\nSelect x.procName, x.host, COUNT`],
    ...(other ? [['Count by the process where the request started', `From x In ${name(rich, mode)}\nJoin start In First(${name(other, mode)}) On start -> x\nGroupBy start.procName, x.host\nSelect start.procName, x.host, COUNT`] as [string, string]] : []),
  ]
}

export function StarterQueries({ mode, known, onChoose }: { mode: Mode; known: Tracepoint[] | null; onChoose: (text: string) => void }) {
  if (known === null) return null
  if (known.length === 0) {
    return mode === 'live' ? (
      <EmptyState title="No tracepoints yet.">
        <p>Processes linked with libwherefore have their own (<code>WHEREFORE_TRACEPOINT</code>). To trace any function of any process, define one:</p>
        <p><Command text="wherefore tracepoints define FILE" /></p>
      </EmptyState>
    ) : (
      <EmptyState title="No stored traces yet.">
        <p>Send some as OTLP, or drop a file on this page.</p>
        <p><Command text="wherefore import FILE" /></p>
      </EmptyState>
    )
  }
  return (
    <section className="query-part" aria-label="Example queries">
      <h2>Example queries</h2>
      <ul className="query-starts">
        {starterQueries(mode, known).map(([title, text]) => (
          <li key={title}>
            <button type="button" className="query-start" onClick={() => onChoose(text)}>
              <span>{title}</span>
              <code>{text}</code>
            </button>
          </li>
        ))}
      </ul>
    </section>
  )
}
