import { useEffect, useMemo, useRef } from 'react'
import { coloursVersion, readCanvasColours } from '../parts/colours'
import { sizeCanvas } from '../parts/canvas'
import { useTheme } from '../shell/theme'
import { paintOverview, paintRuler, paintShade } from './overview_painter'
import { wholeRange, type Clock, type Range, type Waterfall } from './waterfall_model'

const STRIP = 40
const RULER = 24

interface Props {
  w: Waterfall
  clock: Clock
  range: Range
  treeWidth: number
  width: number
  cursor: number | null
  onRange: (range: Range) => void
}

// Minimap and ruler above the rows. Dragging across either zooms to a time range.
export function Overview({ w, clock, range, treeWidth, width, cursor, onRange }: Props) {
  const theme = useTheme()
  const strip = useRef<HTMLCanvasElement>(null)
  const ruler = useRef<HTMLCanvasElement>(null)
  const timeWidth = Math.max(0, width - treeWidth)
  const full = useMemo(() => wholeRange(w, clock), [w, clock])
  const image = useMemo(
    () => (timeWidth > 0 ? paintOverview(w, clock, theme, timeWidth, STRIP, window.devicePixelRatio || 1) : null),
    // eslint-disable-next-line react-hooks/exhaustive-deps
    [w, clock, theme, timeWidth, coloursVersion()],
  )
  useEffect(() => {
    if (!image || !strip.current || !ruler.current) return
    const colours = readCanvasColours(theme)
    const length = full.to - full.from
    paintShade(sizeCanvas(strip.current, timeWidth, STRIP), image, colours, timeWidth, STRIP, (range.from - full.from) / length, (range.to - full.from) / length)
    paintRuler(sizeCanvas(ruler.current, timeWidth, RULER), colours, 0, timeWidth, RULER, range.from, range.to, w.times[clock].from, cursor)
  }, [image, theme, timeWidth, range, full, cursor, w, clock])

  const brush = useRef<number | null>(null)
  const timeAt = (event: React.PointerEvent, shown: Range) => {
    const bounds = event.currentTarget.getBoundingClientRect()
    const share = Math.max(0, Math.min(1, (event.clientX - bounds.left) / bounds.width))
    return shown.from + (shown.to - shown.from) * share
  }
  const handlers = (shown: Range, live: 'live' | 'at end') => ({
    onPointerDown(event: React.PointerEvent) {
      brush.current = timeAt(event, shown)
      event.currentTarget.setPointerCapture(event.pointerId)
    },
    onPointerMove(event: React.PointerEvent) {
      if (brush.current === null || live === 'at end') return
      choose(brush.current, timeAt(event, shown))
    },
    onPointerUp(event: React.PointerEvent) {
      if (brush.current !== null) choose(brush.current, timeAt(event, shown))
      brush.current = null
    },
    onDoubleClick: () => onRange(full),
  })
  const choose = (a: number, b: number) => {
    if (Math.abs(a - b) > (full.to - full.from) / 2000) onRange({ from: Math.min(a, b), to: Math.max(a, b) })
  }

  return (
    <div className="wf-head">
      <div className="wf-head-label" style={{ width: treeWidth }}>
        <span>Service and operation</span>
      </div>
      <div className="wf-head-time">
        <canvas ref={strip} className="wf-strip" aria-hidden="true" {...handlers(full, 'live')} />
        <canvas ref={ruler} className="wf-ruler" aria-hidden="true" {...handlers(range, 'at end')} />
      </div>
    </div>
  )
}
