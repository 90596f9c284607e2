import type { LiveQuery } from '../api/queries'
import { bytes, count, dateTime, duration, exactNs, grouped, instantTitle } from '../parts/format'
import { Icon } from '../parts/Icon'
import { Command } from '../parts/states'
import { followInPage } from '../shell/router'

const HOUR = 3600_000
const since = (ns: bigint): string => {
  const ms = Date.now() - Number(ns / 1_000_000n)
  return ms < 24 * HOUR ? `${duration(Math.max(0, Math.round(ms / 1000)) * 1e9)} ago` : dateTime(ns).slice(0, 16)
}

// The running queries with their cost and a button to remove each.
export function StandingQueries({ queries, current, onRemove }: { queries: LiveQuery[]; current: string; onRemove: (query: LiveQuery) => void }) {
  return (
    <section className="query-part" aria-label="Running queries">
      <h2>Running queries{queries.length > 0 && <span className="muted"> {queries.length}</span>}</h2>
      {queries.length === 0 ? (
        <p className="muted">None. A standing query runs until it is removed, also after a restart; any other ends when the last page that follows it is closed. <Command text="wherefore query --list" /></p>
      ) : (
        <div className="table-box" tabIndex={0} role="region" aria-label="Table of running queries">
          <table className="grid query-list">
            <thead>
              <tr>
                <th>query</th><th>started</th>
                <th className="right" title="Processes and agents that run it, of those connected">processes</th>
                <th className="right" title="Events at its tracepoints">hits</th>
                <th className="right" title="Rows emitted, before grouping">rows</th>
                <th className="right" title="Bytes reported to the server">bytes</th>
                <th className="right" title="CPU time that it cost all processes">cost</th>
                <th className="right" title="Max that one request carried for it">max carried</th>
                <th className="right" title="Rows lost / requests that carried too much">lost</th>
                <th><span className="sr-only">Remove</span></th>
              </tr>
            </thead>
            <tbody>
              {queries.map((q) => {
                const label = q.name || q.id
                const { cost } = q
                return (
                  <tr key={q.id} className={q.id === current ? 'current' : ''}>
                    <td><div className="query-cell">
                      <a href={`/query?${new URLSearchParams({ q: q.query, id: q.id })}`} onClick={followInPage} aria-current={q.id === current ? 'true' : undefined} title={q.query}>{label}</a>
                      <span className="tag tag-quiet">{q.state === 'ending' ? 'ending' : q.standing ? 'standing' : count(q.listeners, 'viewer')}</span>
                      {q.plan === 'emit' && <span className="tag tag-quiet" title="Requests carried too much, so their events are sent to the server and joined there">joined by the server</span>}
                      <span className="mono muted p-cut" title={q.query}>{q.query.replace(/\s+/g, ' ')}</span>
                    </div></td>
                    <td className="nowrap" title={instantTitle(q.sinceNs)}>{since(q.sinceNs)}</td>
                    <td className="num right">{q.processes.told === q.processes.known ? q.processes.known : `${q.processes.told} of ${q.processes.known}`}</td>
                    <td className="num right">{grouped(cost.hits)}</td>
                    <td className="num right">{grouped(cost.tuples)}</td>
                    <td className="num right" title={`${grouped(cost.bytes)} bytes in ${count(cost.reports, 'report')}`}>{bytes(cost.bytes)}</td>
                    <td className="num right" title={`${exactNs(cost.advice_ns)}${cost.hits > 0 ? `, ${Math.round(cost.advice_ns / cost.hits)} ns per hit` : ''}`}>{duration(cost.advice_ns)}</td>
                    <td className="num right" title="Rows and bytes of the request that carried most">{cost.packed_tuples_max > 0 ? `${cost.packed_tuples_max} · ${bytes(cost.baggage_bytes_max)}` : '–'}</td>
                    <td className={`num right ${cost.lost + cost.overflowed > 0 ? 'bad' : ''}`} title={`${count(cost.lost, 'row')} lost, ${count(cost.overflowed, 'request')} overflowed`}>{cost.lost + cost.overflowed > 0 ? `▲ ${grouped(cost.lost)} / ${grouped(cost.overflowed)}` : '0'}</td>
                    <td className="right">{q.state === 'running' && <button type="button" className="icon-button small" aria-label={`Remove ${label}`} title="Remove from every process" onClick={() => onRemove(q)}><Icon name="close" size={12} /></button>}</td>
                  </tr>
                )
              })}
            </tbody>
          </table>
        </div>
      )}
    </section>
  )
}
