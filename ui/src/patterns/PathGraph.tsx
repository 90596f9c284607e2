import { useLayoutEffect, useMemo, useRef, useState } from 'react'
import { layOutLayers, type Layout } from '../explain/layered_layout'
import { svgToPng } from '../explain/svg_png'
import { useSize } from '../parts/canvas'
import { serviceColour } from '../parts/colours'
import { count, duration, exactNs, grouped, percent } from '../parts/format'
import { Icon } from '../parts/Icon'
import { useTheme } from '../shell/theme'
import { Section } from '../trace/SpanPanel'
import { wayTo, type GraphEdge, type PathGraphModel } from './path_graph'

const BOX = { width: 150, height: 40 }
const MARGIN = 20

interface Props {
  graph: PathGraphModel
  caption: string
  selected: string | null
  onSelect: (id: string | null) => void
}

// Messages between nodes: roots on top, wider edges are more frequent. A panel shows the selected node.
export function PathGraph({ graph, caption, selected, onSelect }: Props) {
  const theme = useTheme()
  const box = useRef<HTMLDivElement>(null)
  const svg = useRef<SVGSVGElement>(null)
  const size = useSize(box)
  const [zoom, setZoom] = useState<number | null>(null)
  const gap = graph.tree ? 34 : 92
  const layout = useMemo(() => layOutLayers(graph.nodes.length, graph.edges.filter((e) => e.from !== e.to).map((e) => ({ from: e.from, to: e.to, weight: e.count })), { node: BOX.width, bend: graph.tree ? 20 : 90, gap: graph.tree ? 18 : 70 }), [graph])
  const maxCount = Math.max(1, ...graph.edges.map((e) => e.count))
  const width = layout.width + 2 * MARGIN
  const height = layout.layers * (BOX.height + gap) - gap + 2 * MARGIN
  const scale = zoom ?? (size.width > 0 ? Math.min(1, Math.max(0.8, (size.width - 4) / width)) : 1)
  const x = (i: number) => MARGIN + layout.x[i]!
  const y = (i: number) => MARGIN + layout.layer[i]! * (BOX.height + gap)
  const at = graph.nodes.findIndex((n) => n.id === selected)
  const lit = new Set(at >= 0 && graph.tree ? wayTo(graph, at) : at >= 0 ? [at] : [])
  const ways = useMemo(() => drawWays(graph, layout, gap), [graph, layout, gap])
  // Centres the selected node, else the root, when the drawing appears.
  useLayoutEffect(() => {
    if (box.current && size.width > 0 && graph.nodes.length > 0) box.current.scrollLeft = x(Math.max(0, at)) * scale - size.width / 2
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [layout, size.width])
  const focus = (i: number) => svg.current?.querySelector<SVGGElement>(`[data-vertex="${i}"]`)?.focus()
  const onKey = (event: React.KeyboardEvent, i: number) => {
    const byCount = (list: typeof graph.edges) => [...list].sort((a, b) => b.count - a.count)[0]
    const row = graph.nodes.map((_, k) => k).filter((k) => layout.layer[k] === layout.layer[i]).sort((a, b) => x(a) - x(b))
    let next: number | undefined
    if (event.key === 'ArrowDown') next = byCount(graph.edges.filter((e) => e.from === i && e.to !== i))?.to
    else if (event.key === 'ArrowUp') next = byCount(graph.edges.filter((e) => e.to === i && e.from !== i))?.from
    else if (event.key === 'ArrowLeft') next = row[row.indexOf(i) - 1]
    else if (event.key === 'ArrowRight') next = row[row.indexOf(i) + 1]
    else if (event.key === 'Enter' || event.key === ' ') onSelect(graph.nodes[i]!.id)
    else return
    if (next !== undefined) focus(next)
    event.preventDefault()
  }
  return (
    <div className={`trace-body ${at >= 0 ? 'with-panel' : ''}`}>
      <div className="explain-graph">
        <div className="explain-zoom">
          <button type="button" className="icon-button" aria-label="Zoom out" title="Zoom out" onClick={() => setZoom(Math.max(0.2, scale / 1.25))}><Icon name="minus" /></button>
          <button type="button" className="icon-button" aria-label="Zoom in" title="Zoom in" onClick={() => setZoom(Math.min(2, scale * 1.25))}><Icon name="plus" /></button>
          <button type="button" className="icon-button" aria-label="Fit to width" title="Fit to width" onClick={() => setZoom(null)}><Icon name="reset" /></button>
          <button type="button" className="icon-button" aria-label="Save as PNG" title="Save as PNG" onClick={() => svg.current && svgToPng(svg.current, caption, 'paths.png')}><Icon name="image" /></button>
        </div>
        <div className="explain-scroll" ref={box}>
          <svg ref={svg} className="explain-svg path-graph" width={width * scale} height={height * scale} viewBox={`0 0 ${width} ${height}`} role="group" aria-label="Messages between nodes, with their delays">
            {ways.map((w, k) => {
              const { e } = w
              const on = at >= 0 && (graph.tree ? lit.has(e.from) && lit.has(e.to) : e.from === at || e.to === at)
              return (
                <g key={k} className={`path-way ${on ? 'lit' : ''}`}>
                  <title>{`${graph.nodes[e.from]!.node} → ${graph.nodes[e.to]!.node}: ${e.label}`}</title>
                  <path d={w.d} strokeWidth={1 + 6 * (e.count / maxCount)} />
                </g>
              )
            })}
            {!graph.tree && ways.map(({ e, label }, k) => label && <text key={k} className={`small-text way-label ${at >= 0 && (e.from === at || e.to === at) ? 'lit' : ''}`} x={label.x} y={label.y + 4} textAnchor="middle">{e.label}</text>)}
            {graph.nodes.map((n, i) => (
              <g key={n.id} className={`vertex ${i === at ? 'current' : ''} ${n.marked ? 'vertex-most' : ''}`} data-vertex={i} tabIndex={i === Math.max(0, at) ? 0 : -1} role="button" aria-pressed={i === at} aria-label={`${n.node}${n.note ? `, ${n.note}` : ''}${n.marked ? ', adds most' : ''}`} onClick={() => onSelect(i === at ? null : n.id)} onKeyDown={(event) => onKey(event, i)}>
                <rect className="vertex-box" x={x(i) - BOX.width / 2} y={y(i)} width={BOX.width} height={BOX.height} rx="5" />
                <rect x={x(i) - BOX.width / 2 + 1} y={y(i) + 5} width="4" height={BOX.height - 10} fill={serviceColour(n.node, theme)} />
                <text className="vertex-name" x={x(i) - BOX.width / 2 + 12} y={y(i) + (n.note ? 17 : 25)}>{shorten(n.node, 18)}{n.marked ? ' ◀' : ''}</text>
                {n.note && <text className="small-text" x={x(i) - BOX.width / 2 + 12} y={y(i) + 32}>{shorten(n.note, 23)}</text>}
              </g>
            ))}
          </svg>
        </div>
      </div>
      {at >= 0 && <VertexFacts graph={graph} at={at} onSelect={onSelect} />}
    </div>
  )
}

interface Way {
  e: GraphEdge
  d: string
  label: { x: number; y: number } | null // null: no free place
}

// Curves between boxes. Each label lies on its curve, where it covers no earlier label.
function drawWays(graph: PathGraphModel, layout: Layout, gap: number): Way[] {
  const x = (i: number) => MARGIN + layout.x[i]!
  const y = (i: number) => MARGIN + layout.layer[i]! * (BOX.height + gap)
  const taken: { x: number; y: number; half: number }[] = []
  let drawn = -1
  return graph.edges.map((e): Way => {
    if (e.from === e.to) return { e, d: `M${x(e.from) + BOX.width / 2} ${y(e.from) + 10}c34 -4 34 26 0 20`, label: { x: x(e.from) + BOX.width / 2 + 46, y: y(e.from) + 20 } }
    const bends = layout.bends[++drawn]!
    const down = layout.layer[e.from]! < layout.layer[e.to]!
    let px = x(e.from)
    let py = y(e.from) + (down ? BOX.height : 0)
    let d = `M${px} ${py}`
    const curves: [number, number, number, number][] = []
    const to = (nx: number, ny: number) => {
      const half = (py + ny) / 2
      d += `C${px} ${half} ${nx} ${half} ${nx} ${ny}`
      curves.push([px, py, nx, ny])
      px = nx
      py = ny
    }
    const step = down ? 1 : -1
    let layer = layout.layer[e.from]!
    for (const bend of down ? bends : [...bends].reverse()) {
      layer += step
      to(MARGIN + bend, MARGIN + layer * (BOX.height + gap) + (down ? 0 : BOX.height))
      py += step * BOX.height
      d += `L${px} ${py}`
    }
    to(x(e.to), y(e.to) + (down ? -2 : BOX.height + 2))
    const half = e.label.length * 3.1 + 4
    for (const [ax, ay, bx, by] of curves) {
      for (const t of [0.5, 0.64, 0.36, 0.76, 0.26, 0.86]) {
        const s = 1 - t
        const label = { x: s * s * (s + 3 * t) * ax + t * t * (t + 3 * s) * bx, y: (s * s * s + 1.5 * s * s * t + 1.5 * s * t * t) * ay + (t * t * t + 1.5 * s * s * t + 1.5 * s * t * t) * by }
        if (taken.some((o) => Math.abs(o.x - label.x) < o.half + half && Math.abs(o.y - label.y) < 15)) continue
        taken.push({ ...label, half })
        return { e, d, label }
      }
    }
    return { e, d, label: null }
  })
}

const shorten = (text: string, maxCount: number) => (text.length > maxCount ? `${text.slice(0, maxCount - 1)}…` : text)

function VertexFacts({ graph, at, onSelect }: { graph: PathGraphModel; at: number; onSelect: (id: string | null) => void }) {
  const theme = useTheme()
  const n = graph.nodes[at]!
  const ways = (list: typeof graph.edges, other: 'from' | 'to', verb: string) =>
    list.map((e, k) => {
      const maxCount = Math.max(1, ...e.delays.map((d) => d.count))
      return (
        <Section key={`${other} ${k}`} title={`${verb} ${graph.nodes[e[other]]!.node}`} extra={<span className="muted">{count(e.count, 'message')}</span>}>
          <table className="kv delays">
            <tbody>
              {e.delays.map((d) => (
                <tr key={d.delay}>
                  <th scope="row" className="num" title={exactNs(d.delay)}>after {duration(d.delay)}</th>
                  <td><span className="bar p-bar" style={{ width: `${(d.count / maxCount) * 100}%` }} /></td>
                  <td className="num right">{grouped(d.count)} <span className="muted">{percent(d.count, e.count)}</span></td>
                </tr>
              ))}
            </tbody>
          </table>
          <button type="button" className="link-button" onClick={() => onSelect(graph.nodes[e[other]]!.id)}>Select this node</button>
        </Section>
      )
    })
  return (
    <section className="panel" aria-label="Selected node">
      <header className="panel-head">
        <span className="swatch" style={{ background: serviceColour(n.node, theme) }} />
        <h2>{n.node} <span className="thin">{n.note}</span></h2>
        <button type="button" className="icon-button small" title="Close (Esc)" aria-label="Close" onClick={() => onSelect(null)}><Icon name="close" size={14} /></button>
      </header>
      <div className="panel-body" tabIndex={0} role="region" aria-label="Facts about the node">
        {graph.tree && <p className="note">{wayTo(graph, at).map((i) => graph.nodes[i]!.node).join(' → ')}</p>}
        {ways(graph.edges.filter((e) => e.to === at), 'from', 'From')}
        {ways(graph.edges.filter((e) => e.from === at), 'to', 'To')}
      </div>
    </section>
  )
}
