import { useEffect, useMemo, useRef, useState } from 'react'
import { saveCsv, savePng, sizeCanvas, useSize } from '../parts/canvas'
import { coloursVersion, readCanvasColours, serviceColour } from '../parts/colours'
import { count, duration, exactNs } from '../parts/format'
import { Icon } from '../parts/Icon'
import { CopyButton } from '../parts/states'
import { useVirtualRows } from '../parts/virtual_rows'
import { followInPage, setParams } from '../shell/router'
import { useTheme } from '../shell/theme'
import { NodePanel, signed } from './NodePanel'
import { AXIS, paintTimeline, ROW } from './path_timeline'
import { compareNodes, pathText, type Pattern } from './patterns_model'

interface Props {
  pattern: Pattern
  usual: Pattern | null
  comparing: boolean
  selected: string | null // a node's key
}

const operationOf = (pattern: Pattern) => ({ service: pattern.nodes[0]!.node, operation: `request from ${pattern.client}` })

// Searches traces by their first span's operation and by start time.
export function tracesUrl(pattern: Pattern, more: Record<string, string> = {}): string {
  const query = new URLSearchParams(operationOf(pattern))
  if (pattern.firstNs !== null && pattern.lastNs !== null) {
    query.set('since', pattern.firstNs.toString())
    query.set('until', (pattern.lastNs + 1n).toString())
  } else query.set('since', 'all')
  for (const [key, value] of Object.entries(more)) query.set(key, value)
  return `/search?${query}`
}

function explainUrl(pattern: Pattern): string {
  const query = new URLSearchParams(operationOf(pattern))
  query.set('since', pattern.firstNs === null ? 'all' : pattern.firstNs.toString())
  if (pattern.lastNs !== null) query.set('until', (pattern.lastNs + 1n).toString())
  return `/explain?${query}`
}

// One pattern: its tree, and a timeline of when each node works.
export function PatternDetail({ pattern, usual, comparing, selected }: Props) {
  const { others, grewMost } = useMemo(() => compareNodes(usual, pattern), [usual, pattern])
  const compared = usual !== null
  const marked = compared && grewMost >= 0 ? grewMost : pattern.largestOwn
  const at = pattern.nodes.findIndex((n) => n.key === selected)
  const select = (i: number) => setParams({ node: i < 0 ? null : pattern.nodes[i]!.key })
  const picture = useRef<() => void>(() => undefined)
  const onCsv = () =>
    saveCsv(
      [
        ['depth', 'node', 'latency_ns', 'own_ns', 'call_delay_ns', 'steps_ns', ...(compared ? ['normal_latency_ns', 'normal_own_ns', 'normal_call_delay_ns'] : [])],
        ...pattern.nodes.map((n, i) => [n.depth, n.node, n.latency, n.own, n.callDelay, n.steps.join(' '), ...(compared ? [others[i]?.latency ?? '', others[i]?.own ?? '', others[i]?.callDelay ?? ''] : [])]),
      ],
      `path-${pattern.id}.csv`,
    )
  const worst = pattern.nodes[marked]!
  const usualNode = others[marked]
  return (
    <section className="pattern-detail" aria-label="Selected pattern">
      <header className="pattern-head">
        <h2 title={pathText(pattern.nodes, 2000)}>
          {pattern.client} → {pattern.nodes[0]!.node}: {compared && usualNode
            ? <>mean {signed(pattern.mean - usual.mean)}, {grewMost >= 0 ? <><strong>{worst.node}</strong> own time {signed(worst.own - usualNode.own)}</> : 'no node is slower'}</>
            : <>mean {duration(pattern.mean)}, <strong>{worst.node}</strong> adds {duration(worst.own)}</>}
        </h2>
        <p className="muted pattern-facts">
          <span>{count(pattern.count, 'request')}</span>
          <span className="mono" title="Pattern id, the same in every run">{pattern.id}<CopyButton text={pattern.id} label="Copy the pattern id" /></span>
        </p>
        <span className="spring" />
        <a className="button" href={tracesUrl(pattern)} title="Traces inferred from the messages, from the same client to the same node, in the time range of this pattern" onClick={followInPage}>Its traces</a>
        <a className="button" href={tracesUrl(pattern, { min_duration: `${pattern.p99}ns` })} title={`Traces of ${duration(pattern.p99)} and more (p99)`} onClick={followInPage}>Slowest</a>
        <a className="button" href={explainUrl(pattern)} title="Explain the slowest requests" onClick={followInPage}><Icon name="why" size={14} /> Explain</a>
        <button type="button" className="icon-button" aria-label="Save the pattern as PNG" title="Save as PNG" onClick={() => picture.current()}><Icon name="image" /></button>
        <button type="button" className="icon-button" aria-label="Save the pattern as CSV" title="Save as CSV" onClick={onCsv}><Icon name="download" /></button>
      </header>
      {comparing && !usual && <p className="banner banner-line">Not shown for the usual window: this pattern is new, or too rare there.</p>}
      <div className={`trace-body ${at >= 0 ? 'with-panel' : ''}`}>
        <Timeline pattern={pattern} others={compared ? others : null} marked={marked} grew={compared && grewMost >= 0} at={at} onSelect={select} picture={picture} />
        {at >= 0 && <NodePanel pattern={pattern} at={at} other={others[at] ?? null} comparing={comparing} tracesUrl={tracesUrl(pattern)} onClose={() => select(-1)} />}
      </div>
    </section>
  )
}

interface TimelineProps {
  pattern: Pattern
  others: ReturnType<typeof compareNodes>['others'] | null
  marked: number
  grew: boolean
  at: number
  onSelect: (i: number) => void
  picture: React.MutableRefObject<() => void>
}

function Timeline({ pattern, others, marked, grew, at, onSelect, picture }: TimelineProps) {
  const theme = useTheme()
  const rows = useVirtualRows(pattern.nodes.length, ROW)
  const box = useRef<HTMLDivElement>(null)
  const canvas = useRef<HTMLCanvasElement>(null)
  const size = useSize(box)
  const [top, setTop] = useState(0)
  const [hovered, setHovered] = useState(-1)
  const height = Math.min(size.height, AXIS + pattern.nodes.length * ROW)
  const version = coloursVersion()
  useEffect(() => {
    if (!canvas.current || size.width === 0 || height === 0) return
    paintTimeline(sizeCanvas(canvas.current, size.width, height), readCanvasColours(theme), { pattern, others, marked, selected: at, hovered, width: size.width, height, top, labels: 0 })
  }, [pattern, others, marked, at, hovered, size.width, height, top, theme, version])
  picture.current = () => {
    const whole = document.createElement('canvas')
    const tall = AXIS + Math.min(pattern.nodes.length, 300) * ROW
    paintTimeline(sizeCanvas(whole, 1200, tall), readCanvasColours(theme), { pattern, others, marked, selected: -1, hovered: -1, width: 1200, height: tall, top: 0, labels: 240 })
    savePng(whole, pathText(pattern.nodes), `path-${pattern.id}.png`)
  }
  const rowAt = (event: React.PointerEvent | React.MouseEvent) => {
    const y = event.clientY - canvas.current!.getBoundingClientRect().top - AXIS
    const row = Math.floor((y + top) / ROW)
    return y >= 0 && row < pattern.nodes.length ? row : -1
  }
  const onKey = (event: React.KeyboardEvent) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    if (step === 0) return
    const next = Math.max(0, Math.min(pattern.nodes.length - 1, (at < 0 ? -1 : at) + step))
    onSelect(next)
    rows.reveal(next)
    requestAnimationFrame(() => rows.box.current?.querySelector<HTMLElement>(`[data-node="${next}"]`)?.focus())
    event.preventDefault()
  }
  return (
    <div className="pattern-body">
      <div className="pattern-tree" role="table" aria-label="Tree of the pattern" aria-rowcount={pattern.nodes.length + 1} onKeyDown={onKey}>
        <div role="rowgroup">
          <div className="tree-row tree-head" role="row">
            <div role="columnheader">Node</div>
            <div role="columnheader" className="right">Latency</div>
            <div role="columnheader" className="right" title="Time in the node that none of its calls covers">{others ? 'Own ± usual' : 'Own'}</div>
          </div>
        </div>
        <div className="tree-scroll" role="rowgroup" ref={rows.box} onScroll={(event) => { rows.onScroll(event); setTop(event.currentTarget.scrollTop) }}>
          <div role="presentation" style={{ height: rows.above }} />
          {pattern.nodes.slice(rows.first, rows.last).map((n, k) => {
            const i = rows.first + k
            const other = others?.[i]
            return (
              <div key={n.key} role="row" aria-rowindex={i + 2} className={`tree-row ${i === at ? 'current' : ''} ${i === hovered ? 'hovered' : ''}`} onPointerEnter={() => setHovered(i)} onPointerLeave={() => setHovered(-1)} onClick={() => onSelect(i === at ? -1 : i)}>
                <div role="cell" className="tree-name" style={{ paddingLeft: Math.min(n.depth, 12) * 16 }}>
                  <span className="swatch" style={{ background: serviceColour(n.node, theme) }} />
                  <button type="button" className="tree-button" data-node={i} aria-pressed={i === at} title={n.node} onClick={(event) => { event.stopPropagation(); onSelect(i === at ? -1 : i) }}>{n.node}</button>
                  {i === marked && <span className="tag tag-most">◀ {at >= 0 ? '' : grew ? 'grew most' : 'adds most'}{at >= 0 && <span className="sr-only">{grew ? 'grew most' : 'adds most'}</span>}</span>}
                  {n.afterReply && <span className="tag">after the reply</span>}
                </div>
                <div role="cell" className="num right" title={exactNs(n.latency)}>{duration(n.latency)}</div>
                <div role="cell" className="num right" title={exactNs(n.own)}>{duration(n.own)}{other && <span className={n.own - other.own > pattern.mean * 0.02 ? 'bad strong' : 'muted'}> {signed(n.own - other.own)}</span>}</div>
              </div>
            )
          })}
          <div role="presentation" style={{ height: rows.below }} />
        </div>
      </div>
      <div className="pattern-canvas" ref={box}>
        <canvas
          ref={canvas} role="img" aria-label="When each node of the pattern works, on average, and the distribution of its delays; the table beside it has the numbers"
          onPointerMove={(event) => setHovered(rowAt(event))} onPointerLeave={() => setHovered(-1)}
          onClick={(event) => { const i = rowAt(event); if (i >= 0) onSelect(i === at ? -1 : i) }}
          onWheel={(event) => { if (rows.box.current) rows.box.current.scrollTop += event.deltaY }}
        />
      </div>
    </div>
  )
}
