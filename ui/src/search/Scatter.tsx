import { useEffect, useMemo, useRef, useState } from 'react'
import type { TraceSummary } from '../api/types'
import { savePng, sizeCanvas, useSize } from '../parts/canvas'
import { readCanvasColours } from '../parts/colours'
import { count, dateTime, duration, exactNs } from '../parts/format'
import { Icon } from '../parts/Icon'
import { navigate } from '../shell/router'
import { useTheme } from '../shell/theme'
import { axesFor, durationAt, MARGIN, paintScatter, timeAt, timeMs, xOf, yOf, type Plot } from './scatter_painter'

export interface Region {
  fromNs: bigint
  toNs: bigint
  minNs: number
  maxNs: number
}

export const inRegion = (t: TraceSummary, r: Region): boolean =>
  t.start_ns >= r.fromNs && t.start_ns <= r.toNs && t.duration_ns >= r.minNs && t.duration_ns <= r.maxNs

interface Props {
  traces: TraceSummary[]
  fromMs: number | null
  toMs: number
  log: boolean
  region: Region | null
  onLog: (log: boolean) => void
  onRegion: (region: Region | null) => void
  onCsv: () => void
}

const REACH = 14

export function Scatter({ traces, fromMs, toMs, log, region, onLog, onRegion, onCsv }: Props) {
  const theme = useTheme()
  const box = useRef<HTMLDivElement>(null)
  const canvas = useRef<HTMLCanvasElement>(null)
  const size = useSize(box)
  const [hovered, setHovered] = useState<TraceSummary | null>(null)
  const [brush, setBrush] = useState<{ x0: number; y0: number; x1: number; y1: number } | null>(null)
  const axes = useMemo(() => axesFor(traces, fromMs, toMs, log), [traces, fromMs, toMs, log])
  const plot: Plot = { axes, width: size.width, height: size.height }

  useEffect(() => {
    if (!canvas.current || size.width === 0) return
    const drawn = brush
      ? { x0: Math.min(brush.x0, brush.x1), y0: Math.min(brush.y0, brush.y1), x1: Math.max(brush.x0, brush.x1), y1: Math.max(brush.y0, brush.y1) }
      : region && {
          x0: xOf(plot, Number(region.fromNs / 1000n) / 1000), x1: xOf(plot, Number(region.toNs / 1000n) / 1000),
          y0: yOf(plot, region.maxNs), y1: yOf(plot, region.minNs),
        }
    paintScatter(sizeCanvas(canvas.current, size.width, size.height), plot, traces, readCanvasColours(theme), hovered, drawn)
  })

  const at = (event: React.PointerEvent) => {
    const bounds = box.current!.getBoundingClientRect()
    return { x: event.clientX - bounds.left, y: event.clientY - bounds.top }
  }
  const nearest = (x: number, y: number): TraceSummary | null => {
    let best: TraceSummary | null = null
    let distance = REACH * REACH
    for (const t of traces) {
      const d = (xOf(plot, timeMs(t)) - x) ** 2 + (yOf(plot, t.duration_ns) - y) ** 2
      if (d < distance) {
        distance = d
        best = t
      }
    }
    return best
  }
  const onPointerUp = (event: React.PointerEvent) => {
    const b = brush
    setBrush(null)
    if (!b) return
    if (Math.abs(b.x1 - b.x0) < 5 && Math.abs(b.y1 - b.y0) < 5) {
      const { x, y } = at(event)
      const hit = nearest(x, y)
      if (hit) navigate(`/trace/${hit.trace_id}`)
      else if (region) onRegion(null)
      return
    }
    const instant = (x: number) => BigInt(Math.round(timeAt(plot, x) * 1000)) * 1000n
    onRegion({
      fromNs: instant(Math.min(b.x0, b.x1)),
      toNs: instant(Math.max(b.x0, b.x1)),
      minNs: Math.max(0, Math.floor(Math.max(b.y0, b.y1) >= plot.height - MARGIN.bottom ? 0 : durationAt(plot, Math.max(b.y0, b.y1)))),
      maxNs: Math.ceil(durationAt(plot, Math.min(b.y0, b.y1))),
    })
  }
  const errors = traces.filter((t) => t.errors > 0).length
  return (
    <figure className="chart">
      <figcaption className="chart-head">
        <span className="chart-title">Latency over time</span>
        <span className="legend muted"><i className="mark-disc" /> trace <i className="mark-triangle" /> with errors <i className="mark-ring" /> incomplete</span>
        <span className="spring" />
        <div className="segmented" role="group" aria-label="Duration axis">
          <button type="button" aria-pressed={log} onClick={() => onLog(true)}>log</button>
          <button type="button" aria-pressed={!log} onClick={() => onLog(false)}>linear</button>
        </div>
        <button type="button" className="icon-button" aria-label="Save chart as PNG" title="Save as PNG" onClick={() => canvas.current && savePng(canvas.current, `Latency of ${count(traces.length, 'trace')}`, 'latency.png')}><Icon name="image" /></button>
        <button type="button" className="button quiet" onClick={onCsv}><Icon name="download" size={14} /> CSV</button>
      </figcaption>
      <div
        ref={box}
        className="chart-box"
        onPointerDown={(event) => {
          if (event.button !== 0) return
          const { x, y } = at(event)
          event.currentTarget.setPointerCapture(event.pointerId)
          setBrush({ x0: x, y0: y, x1: x, y1: y })
        }}
        onPointerMove={(event) => {
          const { x, y } = at(event)
          if (brush) {
            setBrush({ ...brush, x1: Math.max(MARGIN.left, Math.min(x, size.width - MARGIN.right)), y1: Math.max(MARGIN.top, Math.min(y, size.height - MARGIN.bottom)) })
            setHovered(null)
          } else setHovered(nearest(x, y))
        }}
        onPointerUp={onPointerUp}
        onPointerCancel={() => setBrush(null)}
        onPointerLeave={() => setHovered(null)}
      >
        <canvas
          ref={canvas}
          className={hovered ? 'pointing' : ''}
          role="img"
          aria-label={`Scatter plot of ${count(traces.length, 'trace')} by start and duration, ${errors} with errors; the table below holds the same traces.`}
        />
        {hovered && !brush && (
          <div className="tip" style={{ transform: `translate(${Math.max(4, Math.min(xOf(plot, timeMs(hovered)) + 14, size.width - 290))}px, ${Math.max(4, Math.min(yOf(plot, hovered.duration_ns) - 20, size.height - 96))}px)` }}>
            <strong>{hovered.service}</strong> {hovered.name}
            <dl>
              <dt>duration</dt><dd>{duration(hovered.duration_ns)} <span className="muted">{exactNs(hovered.duration_ns)}</span></dd>
              <dt>start</dt><dd>{dateTime(hovered.start_ns)}</dd>
              <dt>spans</dt><dd>{hovered.spans}{hovered.errors > 0 && <span className="bad"> ▲ {count(hovered.errors, 'error')}</span>}</dd>
            </dl>
          </div>
        )}
      </div>
    </figure>
  )
}
