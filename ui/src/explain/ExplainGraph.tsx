import { forwardRef, useImperativeHandle, useLayoutEffect, useMemo, useRef, useState } from 'react'
import { serviceColour } from '../parts/colours'
import { useSize } from '../parts/canvas'
import { duration, exactNs, grouped, percent } from '../parts/format'
import { Icon } from '../parts/Icon'
import { useTheme } from '../shell/theme'
import { TextFitter } from '../trace/text_fitter'
import { isSlim, type Edge, type Explanation, type Vertex } from './explain_model'
import { layOutLayers, type Layout } from './layered_layout'
import { svgToPng } from './svg_png'

// The explanation as in figures 4 and 8 of the Zeno paper: the end on top, causes below, width by time. Waits
// (sequencing edges) are dashed, framed and labelled, so that they can be read without colour.

const BOX = { width: 236, height: 64 }
// A step of the request itself that took almost no time is one line, so that the others stand out.
const SLIM_HEIGHT = 26
const LAYER_GAP = 32
const MARGIN = 20
const THIN = 1.5
const THICK = 26
const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif'

export interface GraphHandle {
  savePng: (caption: string, name: string) => void
}

interface Props {
  x: Explanation
  selected: string | null
  onSelect: (id: string | null) => void
  onToggle: (vertex: Vertex) => void
}

interface Drawing {
  layout: Layout
  order: number[] // vertex at each place; the end comes first
  place: number[]
  ways: { edge: Edge; path: string; thick: number; label: { x: number; y: number; anchor: 'start' | 'end' } }[]
  width: number
  height: number
  layerTop: number[]
  layerHeight: number[]
  main: (number | null)[] // the cause of each vertex with the most delay
  effects: (number | null)[]
}

export const ExplainGraph = forwardRef<GraphHandle, Props>(function ExplainGraph({ x, selected, onSelect, onToggle }, ref) {
  const theme = useTheme()
  const box = useRef<HTMLDivElement>(null)
  const svg = useRef<SVGSVGElement>(null)
  const size = useSize(box)
  const drawing = useMemo(() => draw(x), [x])
  const [zoom, setZoom] = useState<number | null>(null)
  const fit = size.width > 0 ? Math.min(1, Math.max(size.width < 600 ? 0.8 : 0.6, (size.width - 4) / drawing.width)) : 1
  const scale = zoom ?? fit
  const focused = x.vertices.findIndex((v) => v.id === selected)
  const home = focused >= 0 ? focused : Math.max(0, x.root)
  useImperativeHandle(ref, () => ({ savePng: (caption, name) => svg.current && svgToPng(svg.current, caption, name) }))
  // Centres the selected vertex, else the end, when the drawing appears and when the width changes. In between, the
  // reader's scroll position stays.
  useLayoutEffect(() => {
    const scroll = box.current
    if (!scroll || size.width === 0 || x.root < 0) return
    const at = focused >= 0 ? focused : x.root
    scroll.scrollLeft = centre(drawing, at) * scale - size.width / 2
    const y = top(drawing, at) * scale
    if (y < scroll.scrollTop || y + BOX.height * scale > scroll.scrollTop + size.height) scroll.scrollTop = y - size.height / 3
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [drawing, size.width])

  const focus = (i: number | null) => {
    if (i === null) return
    svg.current?.querySelector<SVGGElement>(`[data-vertex="${i}"]`)?.focus()
  }
  const onKey = (event: React.KeyboardEvent, i: number) => {
    const { key } = event
    if (key === 'ArrowDown') focus(drawing.main[i]!)
    else if (key === 'ArrowUp') focus(drawing.effects[i]!)
    else if (key === 'ArrowLeft' || key === 'ArrowRight') focus(neighbour(drawing, i, key === 'ArrowLeft' ? -1 : 1))
    else if (key === 'Enter' || key === ' ') onSelect(x.vertices[i]!.id)
    else if (key.toLowerCase() === 'u') onToggle(x.vertices[i]!)
    else if (key === 'Escape') onSelect(null)
    else return
    event.preventDefault()
    event.stopPropagation()
  }
  return (
    <div className="explain-graph">
      <div className="explain-zoom">
        <button type="button" className="icon-button" aria-label="Zoom out" title="Zoom out" onClick={() => setZoom(Math.max(0.3, scale / 1.25))}><Icon name="minus" /></button>
        <button type="button" className="icon-button" aria-label="Zoom in" title="Zoom in" onClick={() => setZoom(Math.min(2, scale * 1.25))}><Icon name="plus" /></button>
        <button type="button" className="icon-button" aria-label="Fit to width" title="Fit to width" onClick={() => setZoom(null)}><Icon name="reset" /></button>
      </div>
      <div className="explain-scroll" ref={box}>
        <svg ref={svg} className="explain-svg" width={drawing.width * scale} height={drawing.height * scale} viewBox={`0 0 ${drawing.width} ${drawing.height}`} role="group" aria-label="Where the time went: the end of the request on top, causes below">
          {drawing.ways.map((w, i) => {
            const behind = w.edge.kind === 'sequencing'
            const lit = focused >= 0 && (w.edge.from === focused || w.edge.to === focused)
            return (
              <g key={i} className={`way ${behind ? 'way-behind' : ''} ${w.edge.delay > 0 ? '' : 'way-empty'} ${lit ? 'lit' : ''}`}>
                <title>{`${duration(w.edge.delay)} ${behind ? 'waited for' : 'caused by'} ${label(x.vertices[w.edge.from]!)}`}</title>
                <path className="ribbon" d={w.path} strokeWidth={w.thick} />
                {behind && <path className="dashes" d={w.path} />}
                {behind && w.edge.delay >= x.delay * 0.03 && <text className="small-text" x={w.label.x} y={w.label.y} textAnchor={w.label.anchor}>waited for · {duration(w.edge.delay)}</text>}
              </g>
            )
          })}
          {x.vertices.map((v, i) => (
            <VertexBox
              key={v.id} v={v} i={i} slim={isSlim(x, i)} x={centre(drawing, i) - BOX.width / 2} y={top(drawing, i)} whole={x.delay} colour={serviceColour(v.node, theme)}
              current={i === focused} tabIndex={i === home ? 0 : -1} onKeyDown={(event) => onKey(event, i)} onClick={() => onSelect(v.id)} onDoubleClick={() => onToggle(v)}
            />
          ))}
        </svg>
      </div>
    </div>
  )
})

interface BoxProps {
  v: Vertex
  i: number
  slim: boolean
  x: number
  y: number
  whole: number
  colour: string
  current: boolean
  tabIndex: number
  onKeyDown: (event: React.KeyboardEvent) => void
  onClick: () => void
  onDoubleClick: () => void
}

function VertexBox({ v, i, slim, x, y, whole, colour, current, ...events }: BoxProps) {
  const share = (part: number) => (whole > 0 ? Math.min(1, part / whole) : 0)
  const height = slim ? SLIM_HEIGHT : BOX.height
  const times = [duration(v.delay), percent(v.delay, whole)]
  if (v.usual !== null) times.push(`usual ${duration(v.usual)}`)
  else if (v.own > 0) times.push(`own ${duration(v.own)}`)
  return (
    <g className={`vertex ${v.functional ? '' : 'vertex-off'} ${current ? 'current' : ''}`} data-vertex={i} role="button" aria-pressed={current} aria-label={ariaLabel(v, whole)} {...events}>
      <title>{`${label(v)}\n${exactNs(v.delay)}${v.own > 0 ? `, own ${exactNs(v.own)}` : ''}`}</title>
      {v.count > 1 && <rect className="vertex-box" x={x + 4} y={y + 4} width={BOX.width} height={height} rx="5" />}
      <rect className="vertex-box" x={x} y={y} width={BOX.width} height={height} rx="5" />
      {v.steps.length === 0 && <rect x={x + 1} y={y + 5} width="4" height={height - (slim ? 10 : 16)} fill={colour} />}
      {slim ? (
        <>
          <text x={x + 12} y={y + 17}>{ellipsized(`${title(v)} · ${v.node}`, BOX.width - 76, `12px ${FONT}`)}</text>
          <text className="small-text" x={x + BOX.width - 8} y={y + 17} textAnchor="end">{duration(v.delay)}</text>
        </>
      ) : (
        <>
          <text className="vertex-name" x={x + 12} y={y + 18}>{ellipsized(title(v), BOX.width - 20, `600 12px ${FONT}`)}</text>
          <text className="small-text" x={x + 12} y={y + 33}>{ellipsized(where(v), BOX.width - 20, `11px ${FONT}`)}</text>
          <text x={x + 12} y={y + 49}>{ellipsized(times.join(' · '), BOX.width - 20, `12px ${FONT}`)}</text>
          <rect className="vertex-delay" x={x + 1} y={y + height - 7} width={(BOX.width - 2) * share(v.delay)} height="6" />
          <rect className="vertex-own" x={x + 1} y={y + height - 7} width={(BOX.width - 2) * share(v.own)} height="6" />
        </>
      )}
    </g>
  )
}

export const title = (v: Vertex): string => `${v.count > 1 ? `${grouped(v.count)} × ` : ''}${v.restOf ? 'more ' : ''}${v.name}`
const TYPE_PHRASES: Record<string, string> = { INS: 'arrived at', DEL: 'removed at', DRV: 'work on', UDRV: 'removal on', SND: 'sent by', RCV: 'received by' }
export const where = (v: Vertex): string => v.steps.length > 0 ? `on ${v.node}` : `${TYPE_PHRASES[v.type] ?? v.type} ${v.node}${v.functional || !v.origin ? '' : `, from ${v.origin}`}${v.expired ? ', expired' : ''}`
export const label = (v: Vertex): string => `${title(v)}, ${where(v)}`

function ariaLabel(v: Vertex, whole: number): string {
  const parts = [label(v), v.functional ? 'part of this request' : 'other work', `${duration(v.delay)} of ${duration(whole)}`]
  if (v.own > 0) parts.push(`own ${duration(v.own)}`)
  return parts.join(', ')
}

const centre = (d: Drawing, vertex: number) => MARGIN + d.layout.x[d.place[vertex]!]!
const top = (d: Drawing, vertex: number) => d.layerTop[d.layout.layer[d.place[vertex]!]!]!

function neighbour(d: Drawing, i: number, step: 1 | -1): number | null {
  const layer = d.layout.layer[d.place[i]!]!
  let best: number | null = null
  d.order.forEach((v, p) => {
    if (v === i || d.layout.layer[p] !== layer) return
    const away = (centre(d, v) - centre(d, i)) * step
    if (away > 0 && (best === null || away < (centre(d, best) - centre(d, i)) * step)) best = v
  })
  return best
}

const measuring = typeof document === 'undefined' ? null : document.createElement('canvas').getContext('2d')
const fitters = new Map<string, TextFitter>()

function ellipsized(text: string, space: number, font: string): string {
  if (!measuring) return text
  measuring.font = font
  let fitter = fitters.get(font)
  if (!fitter) fitters.set(font, (fitter = new TextFitter()))
  return fitter.fit(measuring, text, space)
}

function draw(x: Explanation): Drawing {
  const first = Math.max(0, x.root)
  const order = x.vertices.length === 0 ? [] : [first, ...x.vertices.keys()].filter((v, i) => i === 0 || v !== first)
  const place: number[] = []
  order.forEach((v, p) => (place[v] = p))
  const share = (part: number) => (x.delay > 0 ? Math.min(1, part / x.delay) : 0)
  const edges = x.edges.filter((e) => e.from !== e.to)
  const layout = layOutLayers(order.length, edges.map((e) => ({ from: place[e.to]!, to: place[e.from]!, weight: share(e.delay) })), { node: BOX.width, bend: THICK, gap: 26 })
  const heightOf = (v: number) => (isSlim(x, v) ? SLIM_HEIGHT : BOX.height)
  const layerHeight = new Array<number>(layout.layers).fill(0)
  order.forEach((v, p) => (layerHeight[layout.layer[p]!] = Math.max(layerHeight[layout.layer[p]!]!, heightOf(v))))
  const layerTop: number[] = []
  let y = MARGIN
  for (const h of layerHeight) {
    layerTop.push(y)
    y += h + LAYER_GAP
  }
  const d: Drawing = { layout, order, place, ways: [], layerTop, layerHeight, width: layout.width + 2 * MARGIN, height: y - LAYER_GAP + MARGIN + 6, main: x.vertices.map(() => null), effects: x.vertices.map(() => null) }
  const thick = edges.map((e) => THIN + (THICK - THIN) * share(e.delay))
  // Ribbons leave and reach a box side by side, ordered by where they go.
  const upperEnd = edges.map((e) => (layout.layer[place[e.to]!]! <= layout.layer[place[e.from]!]! ? e.to : e.from))
  const lowerEnd = edges.map((e, i) => (upperEnd[i] === e.to ? e.from : e.to))
  const below = ports(edges.length, upperEnd, thick, (i) => MARGIN + (layout.bends[i]![0] ?? layout.x[place[lowerEnd[i]!]!]!), (v) => centre(d, v))
  const above = ports(edges.length, lowerEnd, thick, (i) => MARGIN + (layout.bends[i]!.at(-1) ?? layout.x[place[upperEnd[i]!]!]!), (v) => centre(d, v))
  const strongest: number[] = []
  edges.forEach((e, i) => {
    let at = { x: below[i]!, y: top(d, upperEnd[i]!) + heightOf(upperEnd[i]!) }
    let path = `M${at.x.toFixed(1)} ${at.y.toFixed(1)}`
    const to = (nx: number, ny: number) => {
      const half = (at.y + ny) / 2
      path += `C${at.x.toFixed(1)} ${half.toFixed(1)} ${nx.toFixed(1)} ${half.toFixed(1)} ${nx.toFixed(1)} ${ny.toFixed(1)}`
      at = { x: nx, y: ny }
    }
    let layer = layout.layer[place[upperEnd[i]!]!]!
    let labelAt: Drawing['ways'][number]['label'] | null = null
    for (const bend of layout.bends[i]!) {
      to(MARGIN + bend, layerTop[++layer]!)
      // A label has more space between boxes than above a box with several edges.
      labelAt ??= { x: at.x + thick[i]! / 2 + 5, y: at.y + 14, anchor: 'start' }
      at.y += layerHeight[layer]!
      path += `L${at.x.toFixed(1)} ${at.y.toFixed(1)}`
    }
    const end = { x: above[i]!, y: top(d, lowerEnd[i]!) }
    // The label goes to the side that the ribbon does not come from.
    const side = at.x > end.x ? -1 : 1
    to(end.x, end.y)
    d.ways.push({ edge: e, path, thick: thick[i]!, label: labelAt ?? { x: end.x + side * (thick[i]! / 2 + 5), y: end.y - 7, anchor: side < 0 ? 'end' : 'start' } })
    if (d.main[e.to] === null || e.delay > edges[strongest[e.to]!]!.delay) {
      d.main[e.to] = e.from
      strongest[e.to] = i
    }
  })
  const strongestUp: number[] = []
  edges.forEach((e, i) => {
    if (d.effects[e.from] !== null && e.delay <= edges[strongestUp[e.from]!]!.delay) return
    d.effects[e.from] = e.to
    strongestUp[e.from] = i
  })
  return d
}

// The x where each edge touches its box: side by side around the middle.
function ports(count: number, ends: number[], thick: number[], toward: (edge: number) => number, middle: (vertex: number) => number): number[] {
  const byEnd = new Map<number, number[]>()
  for (let i = 0; i < count; i++) byEnd.set(ends[i]!, [...(byEnd.get(ends[i]!) ?? []), i])
  const out = new Array<number>(count).fill(0)
  for (const [vertex, list] of byEnd) {
    list.sort((a, b) => toward(a) - toward(b) || a - b)
    const gap = 3
    const whole = list.reduce((s, i) => s + thick[i]! + gap, -gap)
    const squeeze = Math.min(1, (BOX.width - 24) / whole)
    let x = middle(vertex) - (whole * squeeze) / 2
    for (const i of list) {
      out[i] = x + (thick[i]! * squeeze) / 2
      x += (thick[i]! + gap) * squeeze
    }
  }
  return out
}
