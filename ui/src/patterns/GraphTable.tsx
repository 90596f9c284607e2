import { duration, exactNs, grouped } from '../parts/format'
import { wayTo, type PathGraphModel } from './path_graph'

// The edges of the graph as a table, most frequent first.
export function GraphTable({ graph, onSelect }: { graph: PathGraphModel; onSelect: (id: string) => void }) {
  const edges = [...graph.edges].sort((a, b) => b.count - a.count)
  return (
    <div className="table-scroll" role="region" aria-label="Edges as a table" tabIndex={0}>
      <table className="grid">
        <thead><tr><th className="right">Messages</th><th>Delays, most frequent first</th><th>From</th><th>To</th>{graph.tree && <th className="wide">Path</th>}</tr></thead>
        <tbody>
          {edges.map((e, i) => (
            <tr key={i}>
              <td className="num right">{grouped(e.count)}</td>
              <td className="num">{e.delays.slice(0, 4).map((d) => <span key={d.delay} title={exactNs(d.delay)}>{duration(d.delay)} <span className="muted">×{grouped(d.count)}</span>{' '}</span>)}{e.delays.length > 4 && <span className="muted">and {e.delays.length - 4} more</span>}</td>
              <td>{graph.nodes[e.from]!.node}</td>
              <td><button type="button" className="link-button" onClick={() => onSelect(graph.nodes[e.to]!.id)}>{graph.nodes[e.to]!.node}</button></td>
              {graph.tree && <td className="wide muted">{wayTo(graph, e.to).map((v) => graph.nodes[v]!.node).join(' → ')}</td>}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
