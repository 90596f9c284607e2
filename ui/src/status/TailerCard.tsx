import type { TailerStatus } from '../api/types'
import { ns, type ExactInt } from '../api/exact_json'
import { bytes, count, duration, grouped } from '../parts/format'

const number = (value: ExactInt): number => Number(ns(value))
const share = (value: number): string => `${(100 * value).toFixed(2)} %`

// The tailer, which adds rows to datasets: what it did, what waits, and what it delayed or skipped, by name.
export function TailerCard({ tailer }: { tailer: TailerStatus }) {
  if (!tailer.on) return <p className="muted">Off: dataset rows come from backfill and import only.</p>
  const losses: [string, ExactInt, string][] = [
    ['traces over budget', tailer.features.over_budget, 'features_over_budget: above the work limit of one trace, so they have no rows'],
    ['rows skipped', tailer.features.rows_dropped, 'feature_rows_dropped: above the row limit of one trace'],
    ['traces unusable', tailer.traces_unusable, 'they break a rule of the trace model'],
    ['writes failed', tailer.rows.write_failures, 'their traces are processed again'],
    ['events of overlong traces', tailer.blacklist.events_dropped, `${count(number(tailer.blacklist.traces), 'trace')} ran too long`],
  ]
  return (
    <>
      <table className="kv">
        <tbody>
          <Row name="traces processed" value={grouped(number(tailer.traces_from_cache) + number(tailer.traces_delayed_done))} />
          <Row name="from the cache" value={share(tailer.cache_share)} />
          <Row name="processed again" value={share(tailer.again_share)} />
          <Row name="rows written" value={grouped(number(tailer.rows.written))} />
          <Row name="in the cache" value={`${count(number(tailer.cache.traces!), 'trace')}, ${bytes(number(tailer.cache.bytes!))}`} />
          <Row name="waiting in the delayed queue" value={grouped(number(tailer.delayed_queue.traces))} />
          {Object.entries(tailer.delayed).map(([reason, n]) => <Row key={reason} name={`delayed: ${reason.replace(/_/g, ' ')}`} value={grouped(number(n))} />)}
          {Object.entries(tailer.requeued).map(([reason, n]) => <Row key={reason} name={`requeued: ${reason.replace(/_/g, ' ')}`} value={grouped(number(n))} />)}
          {losses.map(([name, n, why]) => <Row key={name} name={name} value={grouped(number(n))} title={why} bad={number(n) > 0} />)}
        </tbody>
      </table>
      <table className="kv stages section">
        <thead><tr><th scope="col">stage</th><th scope="col">waiting</th><th scope="col">lag p99</th><th scope="col">CPU</th></tr></thead>
        <tbody>
          {tailer.stages.map((s) => (
            <tr key={s.name}>
              <th scope="row">{s.name}</th>
              <td className="num">{grouped(number(s.waiting))}</td>
              <td className="num">{duration(number(s.lag_p99_ns))}</td>
              <td className="num">{duration(number(s.cpu_ns))}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {tailer.owners.length > 0 && (
        <table className="kv stages section">
          <thead><tr><th scope="col">owner</th><th scope="col">queued</th><th scope="col">queue full</th><th scope="col">CPU</th></tr></thead>
          <tbody>
            {tailer.owners.map((o) => (
              <tr key={o.owner}>
                <th scope="row">{o.owner}</th>
                <td className="num">{grouped(number(o.queued))}</td>
                <td className="num">{grouped(number(o.refused))}</td>
                <td className="num">{duration(number(o.cpu_ns))}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </>
  )
}

function Row({ name, value, title, bad = false }: { name: string; value: string; title?: string; bad?: boolean }) {
  return <tr><th scope="row" title={title}>{name}</th><td className={`num ${bad ? 'bad' : ''}`}>{value}</td></tr>
}
