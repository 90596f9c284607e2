import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react'
import type { SubComputation } from '../api/recordings'
import { sizeCanvas, useSize } from '../parts/canvas'
import { coloursVersion, readCanvasColours } from '../parts/colours'
import { count, duration as durationText } from '../parts/format'
import { useZoomedRange, type Range } from '../parts/zoomed_range'
import { useTheme } from '../shell/theme'
import { paintRuler } from '../trace/overview_painter'
import { endOf, placeText, subAt, type Lanes } from './lanes_model'
import { LANE, paintLanes } from './lanes_painter'

const RULER = 22

interface Props {
  lanes: Lanes
  duration: number
  selected: string | null
  lineage: Map<string, boolean> | null
  onSelect: (id: string | null) => void
}

// Threads as lanes: W/S zooms, A/D moves, arrows move between sub-computations and threads.
export function ThreadLanes({ lanes, duration, selected, lineage, onSelect }: Props) {
  const theme = useTheme()
  const box = useRef<HTMLDivElement>(null)
  const canvas = useRef<HTMLCanvasElement>(null)
  const ruler = useRef<HTMLCanvasElement>(null)
  const size = useSize(box)
  const [range, setRange] = useState<Range | null>(null)
  const [hover, setHover] = useState<{ sub: SubComputation; x: number; y: number } | null>(null)
  const { shown, showRange, handleKey, beginDrag, moveDrag, endDrag } = useZoomedRange({ box, whole: { from: lanes.from, to: lanes.to }, minLength: 100, range, onRange: setRange })
  const shownNow = useRef(shown)
  shownNow.current = shown
  useEffect(() => setRange(null), [lanes])

  const draw = useCallback(() => {
    const scroller = box.current
    if (!canvas.current || !ruler.current || !scroller || scroller.clientWidth === 0) return
    const colours = readCanvasColours(theme)
    paintLanes(
      sizeCanvas(canvas.current, scroller.clientWidth, scroller.clientHeight),
      { lanes, duration, from: shown.from, to: shown.to, selected, hovered: hover?.sub.id ?? null, lineage },
      colours, scroller.clientWidth, scroller.clientHeight, scroller.scrollTop,
    )
    paintRuler(sizeCanvas(ruler.current, scroller.clientWidth, RULER), colours, 0, scroller.clientWidth, RULER, shown.from, shown.to, 0, null)
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [lanes, duration, shown.from, shown.to, selected, hover, lineage, theme, size, coloursVersion()])
  useLayoutEffect(draw, [draw])

  // Scrolls to a sub-computation that was selected elsewhere, in a list or by URL.
  useEffect(() => {
    const place = selected ? lanes.byId.get(selected) : undefined
    const scroller = box.current
    if (!place || !scroller) return
    const top = place.lane * LANE
    if (top < scroller.scrollTop) scroller.scrollTop = top
    else if (top + LANE > scroller.scrollTop + scroller.clientHeight) scroller.scrollTop = top + LANE - scroller.clientHeight
    const { from, to } = shownNow.current
    const start = place.sub.start_ns
    if (start > to || endOf(place.sub, duration) < from) showRange(start - (to - from) / 4, start + ((to - from) * 3) / 4)
  }, [selected, lanes, duration, showRange])

  const at = (event: React.PointerEvent | React.MouseEvent) => {
    const element = box.current!
    const bounds = element.getBoundingClientRect()
    const x = event.clientX - bounds.left
    const y = event.clientY - bounds.top
    const lane = lanes.lanes[Math.floor((y + element.scrollTop) / LANE)]
    const sub = lane ? subAt(lane, shown.from + (x / element.clientWidth) * (shown.to - shown.from)) : null
    return sub ? { sub, x, y } : null
  }
  const step = (key: string): string | null => {
    const place = selected ? lanes.byId.get(selected) : undefined
    if (!place) return lanes.lanes[0]?.subs[0]?.id ?? null
    if (key === 'ArrowLeft' || key === 'ArrowRight') {
      const subs = lanes.lanes[place.lane]!.subs
      return subs[subs.indexOf(place.sub) + (key === 'ArrowRight' ? 1 : -1)]?.id ?? place.sub.id
    }
    const lane = lanes.lanes[place.lane + (key === 'ArrowDown' ? 1 : -1)]
    return lane ? (subAt(lane, place.sub.start_ns) ?? lane.subs[0]!).id : place.sub.id
  }
  const onKeyDown = (event: React.KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const { key } = event
    if (key.startsWith('Arrow')) onSelect(step(key))
    else if (key.toLowerCase() === 'f' && selected && lanes.byId.has(selected)) {
      const { sub } = lanes.byId.get(selected)!
      const length = endOf(sub, duration) + sub.wait_ns - sub.start_ns
      showRange(sub.start_ns - length * 0.1, sub.start_ns + length * 1.1)
    } else if (!handleKey(event)) return
    event.preventDefault()
    event.stopPropagation()
  }
  return (
    <div className="lanes">
      <div className="lane-names" aria-hidden="true">
        <div className="lane-corner" />
        <div className="lane-list">
          {lanes.lanes.map((lane) => <div key={lane.thread} className="lane-name" title={`thread ${lane.thread} ${lane.name}`}><span className="mono">{lane.thread}</span> {lane.name}</div>)}
        </div>
      </div>
      <div className="lane-chart">
        <canvas className="lane-ruler" ref={ruler} aria-hidden="true" />
        <div
          className="lane-scroll"
          ref={box}
          tabIndex={0}
          role="application"
          aria-roledescription="threads over time"
          aria-label={`${count(lanes.lanes.length, 'thread')} over ${durationText(lanes.to - lanes.from)}. Arrow keys move between sub-computations and threads; W and S zoom.`}
          onScroll={(event) => {
            const names = event.currentTarget.closest('.lanes')?.querySelector('.lane-list')
            if (names instanceof HTMLElement) names.style.transform = `translateY(${-event.currentTarget.scrollTop}px)`
            draw()
          }}
          onKeyDown={onKeyDown}
          onPointerDown={beginDrag}
          onPointerMove={(event) => setHover(moveDrag(event) ? null : at(event))}
          onPointerLeave={() => setHover(null)}
          onClick={(event) => !endDrag() && onSelect(at(event)?.sub.id ?? null)}
        >
          <div className="wf-spacer" style={{ height: lanes.lanes.length * LANE }}>
            <canvas className="wf-canvas" ref={canvas} aria-hidden="true" />
          </div>
        </div>
        {hover && (
          <div className="tip" role="presentation" style={{ transform: `translate(${Math.max(4, Math.min(hover.x + 14, size.width - 320))}px, ${Math.min(hover.y + 40, Math.max(40, size.height - 60))}px)` }}>
            <strong>{hover.sub.id}</strong>
            <dl>
              <dt>ran</dt><dd>{durationText(endOf(hover.sub, duration) - hover.sub.start_ns)}</dd>
              {hover.sub.wait_ns > 0 && <><dt>then waited</dt><dd>{durationText(hover.sub.wait_ns)}</dd></>}
              {hover.sub.sync?.op && <><dt>in</dt><dd className="mono">{hover.sub.sync.op}</dd></>}
              {placeText(hover.sub.sync?.site) && <><dt>at</dt><dd className="mono">{placeText(hover.sub.sync?.site)}</dd></>}
            </dl>
          </div>
        )}
      </div>
    </div>
  )
}
