import { duration, exactNs, grouped, percent } from '../parts/format'
import type { Explanation, Vertex } from './explain_model'
import { typeMeaning } from './explain_model'

// All vertices as a table, largest delay first.
export function ExplainTable({ x, selected, onSelect }: { x: Explanation; selected: string | null; onSelect: (id: string) => void }) {
  const rows = [...x.vertices].sort((a, b) => b.delay - a.delay || b.own - a.own || a.start - b.start)
  return (
    <div className="table-scroll" tabIndex={0} role="region" aria-label="Steps as a table">
      <table className="grid explain-table">
        <thead>
          <tr>
            <th scope="col" className="right">Delay</th>
            <th scope="col" className="right">Share</th>
            <th scope="col" className="right" title="Delay that arose in this step, not in its causes">Own</th>
            {x.hasUsual && <th scope="col" className="right" title="p50 of the same step in usual requests of this operation">Usual</th>}
            <th scope="col" className="wide"><span className="sr-only">Share as a bar</span></th>
            <th scope="col">Request</th>
            <th scope="col" className="right">Count</th>
            <th scope="col">Step</th>
            <th scope="col">Where</th>
            <th scope="col">From</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((v) => (
            <tr key={v.id} className={v.id === selected ? 'current' : ''}>
              <td className="num right" title={exactNs(v.delay)}>{duration(v.delay)}</td>
              <td className="num right">{percent(v.delay, x.delay)}</td>
              <td className="num right" title={exactNs(v.own)}>{duration(v.own)}</td>
              {x.hasUsual && <td className="num right" title={v.usual === null ? '' : exactNs(v.usual)}>{v.usual === null ? '' : duration(v.usual)}</td>}
              <td className="wide"><Bars v={v} whole={x.delay} /></td>
              <td>{v.functional ? 'this' : 'other'}</td>
              <td className="num right">{grouped(v.count)}</td>
              <td className="explain-what"><button type="button" className="link-button plain-text" title={v.tuple} onClick={() => onSelect(v.id)}>{v.name} <span className="muted">{typeMeaning(v.type)}</span></button></td>
              <td>{v.node}</td>
              <td>{v.origin}{v.expired && <span className="tag">expired</span>}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function Bars({ v, whole }: { v: Vertex; whole: number }) {
  const width = (part: number) => ({ width: `${whole > 0 ? Math.min(100, (part / whole) * 100) : 0}%` })
  return (
    <span className={`explain-bars ${v.functional ? '' : 'off'}`} aria-hidden="true">
      <i style={width(v.delay)} />
      <b style={width(v.own)} />
    </span>
  )
}
