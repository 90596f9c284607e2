import { useRef, useState } from 'react'
import { timeTicks } from '../parts/axis'
import { useSize } from '../parts/canvas'
import { clockTime, count, duration } from '../parts/format'
import type { TimeSpan } from './patterns_model'

const HEIGHT = 58
const FOOT = 15

interface Props {
  spans: TimeSpan[]
  usual: TimeSpan[] | null
  onOnly: (fromNs: bigint, untilNs: bigint) => void
  onCompare: (fromNs: bigint, untilNs: bigint) => void
}

// Mean latency by start time. Dragging over a part offers to show it alone or to compare it with the rest.
export function WindowStrip({ spans, usual, onOnly, onCompare }: Props) {
  const box = useRef<HTMLDivElement>(null)
  const { width } = useSize(box)
  const [drag, setDrag] = useState<[number, number] | null>(null)
  const [dragging, setDragging] = useState(false)
  const all = [...(usual ?? []), ...spans]
  if (all.length === 0) return null
  const start = all.reduce((m, s) => (s.fromNs < m ? s.fromNs : m), all[0]!.fromNs)
  const end = all.reduce((m, s) => (s.untilNs > m ? s.untilNs : m), all[0]!.untilNs)
  const range = Math.max(1, Number(end - start))
  const maxLatency = Math.max(1, ...all.map((s) => s.latency))
  const x = (t: bigint) => (Number(t - start) / range) * width
  const y = (latency: number) => (HEIGHT - FOOT - 4) * (latency / maxLatency)
  const timeAt = (px: number) => start + BigInt(Math.round((Math.max(0, Math.min(width, px)) / Math.max(1, width)) * range))
  const ticks = timeTicks(Number(start / 1_000_000n), Number(end / 1_000_000n), Math.max(2, Math.floor(width / 120)))
  const chosen: [bigint, bigint] | null = drag && !dragging && Math.abs(drag[1] - drag[0]) > 3 ? [timeAt(Math.min(...drag)), timeAt(Math.max(...drag))] : null
  const bar = (s: TimeSpan, isUsual: boolean) =>
    s.count > 0 && (
      <rect key={`${isUsual} ${s.fromNs}`} className={isUsual ? 'window-usual' : 'window-bar'} x={x(s.fromNs) + 0.5} width={Math.max(1, x(s.untilNs) - x(s.fromNs) - 1)} y={HEIGHT - FOOT - y(s.latency)} height={Math.max(1, y(s.latency))}>
        <title>{`${clockTime(s.fromNs)}: mean ${duration(s.latency)} over ${count(s.count, 'request')}${isUsual ? ' (usual)' : ''}`}</title>
      </rect>
    )
  const place = (event: React.PointerEvent) => event.clientX - box.current!.getBoundingClientRect().left
  return (
    <div
      className="window-strip" ref={box}
      onPointerDown={(event) => {
        if (event.button !== 0 || (event.target as Element).closest('button')) return
        event.currentTarget.setPointerCapture(event.pointerId)
        setDrag([place(event), place(event)])
        setDragging(true)
      }}
      onPointerMove={(event) => dragging && drag && setDrag([drag[0], place(event)])}
      onPointerUp={() => setDragging(false)}
    >
      <svg width={width} height={HEIGHT} role="img" aria-label={`Mean latency by start time, max ${duration(maxLatency)}`}>
        {usual?.map((s) => bar(s, true))}
        {spans.map((s) => bar(s, false))}
        <path className="delay-axis" d={`M0 ${HEIGHT - FOOT + 0.5}H${width}`} />
        {ticks.map((t) => {
          const at = x(BigInt(Math.round(t.ms)) * 1_000_000n)
          return at < width - 24 && at > 24 && <text key={t.ms} x={at} y={HEIGHT - 3} textAnchor="middle">{t.label}</text>
        })}
        <text x={2} y={10} className="window-top">{duration(maxLatency)}</text>
        {drag && <rect className="window-drag" x={Math.min(...drag)} width={Math.abs(drag[1] - drag[0])} y="0" height={HEIGHT - FOOT} />}
      </svg>
      {chosen && (
        <div className="window-choice" style={{ left: Math.max(0, Math.min(width - 270, Math.min(...drag!))) }}>
          <button type="button" className="button primary" onClick={() => { setDrag(null); onCompare(...chosen) }}>Compare with the rest</button>
          <button type="button" className="button" onClick={() => { setDrag(null); onOnly(...chosen) }}>Show only this</button>
          <button type="button" className="button quiet" onClick={() => setDrag(null)}>Cancel</button>
        </div>
      )}
    </div>
  )
}
