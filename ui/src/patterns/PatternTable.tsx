import { count, duration, exactNs, grouped, percent } from '../parts/format'
import { Icon } from '../parts/Icon'
import { useVirtualRows } from '../parts/virtual_rows'
import { setParams } from '../shell/router'
import { signed } from './NodePanel'
import { compareNodes, pathText, type Cluster, type Pattern } from './patterns_model'

const ROW_HEIGHT = 28

interface Props {
  list: Cluster[]
  total: number
  open: Set<string>
  chosen: Pattern | null
  usual: Map<string, Pattern> | null
  phases: Map<string, string>
}

interface Row {
  cluster: Cluster
  pattern: Pattern | null // null: the cluster's own row
}

// Patterns by cost. Those that differ only in names share a row that unfolds.
export function PatternTable({ list, total, open, chosen, usual, phases }: Props) {
  const rowsOf: Row[] = list.flatMap((cluster): Row[] => {
    if (cluster.patterns.length === 1) return [{ cluster, pattern: cluster.patterns[0]! }]
    const own: Row = { cluster, pattern: null }
    return open.has(cluster.shape) ? [own, ...cluster.patterns.map((pattern) => ({ cluster, pattern }))] : [own]
  })
  const rows = useVirtualRows(rowsOf.length, ROW_HEIGHT)
  const largest = Math.max(1, ...list.map((c) => c.total))
  const differences = usual && new Map(list.flatMap((c) => c.patterns).map((p) => [p.id, p.mean - (usual.get(p.id)?.mean ?? p.mean)]))
  const widest = differences ? Math.max(1, ...[...differences.values()].map(Math.abs)) : 1
  const toggle = (cluster: Cluster) => {
    const next = new Set(open)
    if (!next.delete(cluster.shape)) next.add(cluster.shape)
    // An empty list means the default, so "all closed" needs a value.
    setParams({ open: [...next].join(',') || 'none' })
  }
  const choose = (pattern: Pattern) => setParams({ pattern: pattern.id, node: null })
  const onKey = (event: React.KeyboardEvent) => {
    const focused = (event.target as HTMLElement).closest<HTMLElement>('[data-row]')
    if (!focused) return
    const at = Number(focused.dataset.row)
    const row = rowsOf[at]!
    if (event.key === 'ArrowRight' || event.key === 'ArrowLeft') {
      if (row.cluster.patterns.length > 1 && open.has(row.cluster.shape) !== (event.key === 'ArrowRight')) toggle(row.cluster)
    } else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      const next = Math.max(0, Math.min(rowsOf.length - 1, at + (event.key === 'ArrowDown' ? 1 : -1)))
      rows.reveal(next)
      requestAnimationFrame(() => rows.box.current?.querySelector<HTMLElement>(`[data-row="${next}"] button`)?.focus())
    } else return
    event.preventDefault()
  }
  return (
    <div className={`patterns ${usual ? 'patterns-compared' : ''}`} role="table" aria-label="Patterns" aria-rowcount={rowsOf.length + 1} onKeyDown={onKey}>
      <div role="rowgroup">
        <div className="patterns-row patterns-head" role="row">
          <div role="columnheader" className="p-share">Share of time</div>
          <div role="columnheader" className="right p-wide">Requests</div>
          <div role="columnheader" className="right">Mean</div>
          {usual ? (
            <>
              <div role="columnheader" className="right p-wide">Usual</div>
              <div role="columnheader" className="right">Difference</div>
              <div role="columnheader" className="p-wide"><span className="sr-only">Difference as a bar</span></div>
              <div role="columnheader" className="p-wide">Grew most</div>
            </>
          ) : (
            <>
              <div role="columnheader" className="right p-wide">p50</div>
              <div role="columnheader" className="right p-wide">p99</div>
              <div role="columnheader" className="p-wide">Adds most</div>
            </>
          )}
          <div role="columnheader">Path</div>
        </div>
      </div>
      <div className="patterns-scroll" role="rowgroup" ref={rows.box} onScroll={rows.onScroll}>
        <div role="presentation" style={{ height: rows.above }} />
        {rowsOf.slice(rows.first, rows.last).map(({ cluster, pattern }, k) => {
          const at = rows.first + k
          const x = pattern ?? cluster
          const nested = pattern !== null && cluster.patterns.length > 1
          const mean = pattern ? pattern.mean : cluster.total / Math.max(1, cluster.count)
          const before = pattern ? (usual?.get(pattern.id) ?? null) : usualOf(cluster, usual)
          const difference = before ? mean - before.mean : 0
          const onClick = () => (pattern ? choose(pattern) : toggle(cluster))
          return (
            <div key={pattern ? pattern.id : `shape ${cluster.shape}`} role="row" data-row={at} aria-rowindex={at + 2} className={`patterns-row ${nested ? 'nested' : ''} ${pattern && pattern === chosen ? 'current' : ''}`} onClick={onClick}>
              <div role="cell" className="p-share" title={`${exactNs(Math.round(x.total))} of ${count(x.count, 'request')}`}><span className="num right">{percent(x.total, total)}</span><span className="p-track"><span className="bar p-bar" style={{ width: `${(x.total / largest) * 100}%` }} /></span></div>
              <div role="cell" className="num right p-wide">{grouped(x.count)}</div>
              <div role="cell" className="num right" title={exactNs(Math.round(mean))}>{duration(mean)}</div>
              {usual ? (
                <>
                  <div role="cell" className="num right p-wide">{before ? duration(before.mean) : '–'}</div>
                  <div role="cell" className={`num right ${before && difference > mean * 0.05 ? 'bad' : ''}`}>{before ? signed(difference) : 'new'}</div>
                  <div role="cell" className="p-wide"><span className="diff">{before && <span className={difference > 0 ? 'diff-more' : 'diff-less'} style={{ width: `${Math.min(50, (Math.abs(difference) / widest) * 50)}%` }} />}</span></div>
                  <div role="cell" className="p-wide p-cut">{pattern ? grewMost(pattern, usual) : ''}</div>
                </>
              ) : (
                <>
                  <div role="cell" className="num right p-wide">{pattern ? duration(pattern.p50) : ''}</div>
                  <div role="cell" className="num right p-wide">{pattern ? duration(pattern.p99) : ''}</div>
                  <div role="cell" className="p-wide p-cut">{pattern ? `${pattern.nodes[pattern.largestOwn]!.node} ${duration(pattern.nodes[pattern.largestOwn]!.own)}` : ''}</div>
                </>
              )}
              <div role="cell" className="p-path">
                {pattern ? (
                  <button type="button" className="tree-button" aria-pressed={pattern === chosen} title={`${pattern.client} → ${pathText(pattern.nodes, 2000)}`} onClick={(event) => { event.stopPropagation(); onClick() }}>{pathText(pattern.nodes)}</button>
                ) : (
                  <button type="button" className="tree-button" aria-expanded={open.has(cluster.shape)} title="Patterns of the same shape with different names" onClick={(event) => { event.stopPropagation(); onClick() }}>
                    <Icon name={open.has(cluster.shape) ? 'down' : 'goto'} size={12} /> <span className="tag tag-quiet">{cluster.patterns.length} alike</span> {cluster.names}
                  </button>
                )}
                {pattern && phases.has(pattern.id) && <span className="tag" title="Frequent only in this time">{phases.get(pattern.id)}</span>}
              </div>
            </div>
          )
        })}
        <div role="presentation" style={{ height: rows.below }} />
      </div>
    </div>
  )
}

// The mean of the same patterns in the usual window.
function usualOf(cluster: Cluster, usual: Map<string, Pattern> | null): { mean: number } | null {
  const known = cluster.patterns.flatMap((p) => usual?.get(p.id) ?? [])
  const requests = known.reduce((s, p) => s + p.count, 0)
  return requests > 0 ? { mean: known.reduce((s, p) => s + p.total, 0) / requests } : null
}

function grewMost(pattern: Pattern, usual: Map<string, Pattern>): string {
  const before = usual.get(pattern.id)
  if (!before) return ''
  const { others, grewMost: at } = compareNodes(before, pattern)
  return at < 0 ? 'none' : `${pattern.nodes[at]!.node} ${signed(pattern.nodes[at]!.own - others[at]!.own)}`
}
