import { Fragment, forwardRef, useCallback, useEffect, useImperativeHandle, useLayoutEffect, useMemo, useRef, useState } from 'react'
import { readCanvasColours, type CanvasColours } from '../parts/colours'
import { count, duration, exactNs } from '../parts/format'
import { sizeCanvas, useSize } from '../parts/canvas'
import { verdictWords } from '../parts/verdict'
import { useTheme } from '../shell/theme'
import { MarkerBand } from './MarkerBand'
import { Overview } from './Overview'
import { timeOnPath, type PathModel } from './path_model'
import { SpanRows } from './SpanRows'
import { canFold, depthAt, wholeRange, type Clock, type Range, type Rows, type Waterfall as Model } from './waterfall_model'
import { indentOf, ROW, WaterfallPainter } from './waterfall_painter'

export interface WaterfallHandle {
  zoom(factor: number): void
  pan(share: number): void
  reset(): void
  zoomTo(block: number): void
  reveal(block: number, where?: 'centre' | 'nearest'): void
  focus(): void
  image(): HTMLCanvasElement | null
}

interface Props {
  w: Model
  rows: Rows
  folded: ReadonlySet<number>
  clock: Clock
  selected: number
  matches: Uint8Array | null
  path: PathModel | null
  initialRange: Range | null
  onRange: (range: Range | null) => void
  onSelect: (block: number) => void
  onToggle: (block: number) => void
  onToggleGroup: (group: number) => void
}

const MIN_SPAN_NS = 10

export const Waterfall = forwardRef<WaterfallHandle, Props>(function Waterfall(props, handle) {
  const { w, rows, folded, clock, selected, matches, path, onRange, onSelect, onToggle, onToggleGroup } = props
  const theme = useTheme()
  const scroller = useRef<HTMLDivElement>(null)
  const canvas = useRef<HTMLCanvasElement>(null)
  const painter = useMemo(() => new WaterfallPainter(w), [w])
  const size = useSize(scroller)
  const [treeShare, setTreeShare] = useState(0.36)
  const treeWidth = Math.round(Math.max(110, Math.min(size.width * treeShare, size.width - 120)))
  // null: the whole trace, on either clock.
  const [chosen, setChosen] = useState<Range | null>(props.initialRange)
  const range = useMemo(() => chosen ?? wholeRange(w, clock), [chosen, w, clock])
  const [hover, setHover] = useState<{ block: number; x: number; y: number; time: number } | null>(null)
  const colours = useRef<CanvasColours | null>(null)

  const setRange = useCallback(
    (next: Range) => {
      const whole = wholeRange(w, clock)
      const length = Math.min(Math.max(next.to - next.from, MIN_SPAN_NS), whole.to - whole.from)
      const from = Math.min(Math.max(next.from, whole.from), whole.to - length)
      const clamped = { from, to: from + length }
      const all = length >= (whole.to - whole.from) * 0.9999
      setChosen(all ? null : clamped)
      onRange(all ? null : clamped)
    },
    [w, clock, onRange],
  )

  // Everything a frame needs, so that a scroll event can draw without waiting for React.
  const scene = useRef({ w, rows, folded, clock, from: range.from, to: range.to, selected, hovered: -1, matches, path, treeWidth, cursor: null as number | null })
  scene.current = { w, rows, folded, clock, from: range.from, to: range.to, selected, hovered: hover?.block ?? -1, matches, path, treeWidth, cursor: hover && hover.x > treeWidth ? hover.time : null }

  const pending = useRef(0)
  const draw = useCallback(() => {
    pending.current = 0
    const element = canvas.current
    const box = scroller.current
    if (!element || !box || !colours.current) return
    const ctx = sizeCanvas(element, box.clientWidth, box.clientHeight)
    painter.paint(ctx, scene.current, colours.current, box.clientWidth, box.clientHeight, box.scrollTop)
  }, [painter])
  const schedule = useCallback(() => {
    if (!pending.current) pending.current = requestAnimationFrame(draw)
  }, [draw])
  useEffect(() => () => cancelAnimationFrame(pending.current), [])

  useLayoutEffect(() => {
    colours.current = readCanvasColours(theme)
  }, [theme])
  useLayoutEffect(schedule)

  const reveal = useCallback(
    (block: number, where: 'centre' | 'nearest' = 'nearest') => {
      const box = scroller.current
      if (!box || block < 0) return
      const top = scene.current.rows.rowOf[block]! * ROW
      if (where === 'centre') box.scrollTop = top - box.clientHeight / 2
      else if (top < box.scrollTop) box.scrollTop = top - ROW
      else if (top + ROW > box.scrollTop + box.clientHeight) box.scrollTop = top + 2 * ROW - box.clientHeight
    },
    [],
  )

  const zoomAround = useCallback(
    (factor: number, centre: number) => {
      const { from, to } = scene.current
      setRange({ from: centre - (centre - from) * factor, to: centre + (to - centre) * factor })
    },
    [setRange],
  )

  useImperativeHandle(handle, () => ({
    zoom(factor) {
      const { from, to, treeWidth: left } = scene.current
      const time = hover && hover.x > left ? hover.time : (from + to) / 2
      zoomAround(factor, time)
    },
    pan(share) {
      const { from, to } = scene.current
      setRange({ from: from + (to - from) * share, to: to + (to - from) * share })
    },
    reset: () => setRange(wholeRange(w, clock)),
    zoomTo(block) {
      const { start, duration: length } = w.times[clock]
      const air = Math.max(length[block]! * 0.15, MIN_SPAN_NS)
      setRange({ from: start[block]! - air, to: start[block]! + length[block]! + air })
    },
    reveal,
    focus: () => scroller.current?.focus({ preventScroll: true }),
    image: () => canvas.current,
  }))

  // The wheel scrolls rows; with Ctrl it zooms at the pointer, sideways or with Shift it pans. Not React's wheel listener:
  // it is passive, so it cannot keep the browser from zooming the page.
  useEffect(() => {
    const box = scroller.current
    if (!box) return
    const onWheel = (event: WheelEvent) => {
      const { from, to, treeWidth: left } = scene.current
      const bounds = box.getBoundingClientRect()
      const width = box.clientWidth - left
      if (event.ctrlKey || event.metaKey) {
        event.preventDefault()
        const share = Math.max(0, Math.min(1, (event.clientX - bounds.left - left) / width))
        zoomAround(Math.exp(event.deltaY * 0.0022), from + (to - from) * share)
      } else if (event.deltaX !== 0 || event.shiftKey) {
        event.preventDefault()
        const shift = ((event.deltaX || event.deltaY) / width) * (to - from)
        setRange({ from: from + shift, to: to + shift })
      }
    }
    box.addEventListener('wheel', onWheel, { passive: false })
    return () => box.removeEventListener('wheel', onWheel)
  }, [setRange, zoomAround])

  const at = (event: React.PointerEvent | React.MouseEvent) => {
    const box = scroller.current!
    const bounds = box.getBoundingClientRect()
    const x = event.clientX - bounds.left
    const y = event.clientY - bounds.top
    const row = Math.floor((y + box.scrollTop) / ROW)
    const inside = row >= 0 && row < rows.blocks.length && x < box.clientWidth
    const block = inside ? Math.max(-1, rows.blocks[row]!) : -1
    const group = inside && rows.blocks[row]! < 0 ? -1 - rows.blocks[row]! : -1
    const time = range.from + ((x - treeWidth) / (box.clientWidth - treeWidth)) * (range.to - range.from)
    return { x, y, row, block, group, time }
  }

  const drag = useRef<{ x: number; range: Range; moved: boolean; kind: 'pan' | 'resize' | 'none' } | null>(null)
  const onPointerDown = (event: React.PointerEvent) => {
    if (event.button !== 0) return
    const { x } = at(event)
    if (x > scroller.current!.clientWidth) return
    const kind = Math.abs(x - treeWidth) <= 5 ? 'resize' : x > treeWidth ? 'pan' : 'none'
    drag.current = { x: event.clientX, range, moved: false, kind }
    if (kind === 'resize') event.preventDefault()
  }
  const onPointerMove = (event: React.PointerEvent) => {
    const active = drag.current
    const box = scroller.current!
    if (active && event.buttons & 1) {
      const dx = event.clientX - active.x
      if (!active.moved && Math.abs(dx) > 4) {
        active.moved = true
        box.setPointerCapture(event.pointerId)
        setHover(null)
      }
      if (active.moved && active.kind === 'pan') {
        const shift = (-dx / (box.clientWidth - treeWidth)) * (active.range.to - active.range.from)
        setRange({ from: active.range.from + shift, to: active.range.to + shift })
      } else if (active.kind === 'resize') {
        setTreeShare(Math.max(0.12, Math.min(0.75, (event.clientX - box.getBoundingClientRect().left) / box.clientWidth)))
      }
      return
    }
    if (event.pointerType === 'touch') return
    const here = at(event)
    box.style.cursor = Math.abs(here.x - treeWidth) <= 5 ? 'col-resize' : here.x > treeWidth ? 'default' : 'pointer'
    setHover(here.block < 0 ? null : here)
  }
  const onClick = (event: React.MouseEvent) => {
    const active = drag.current
    drag.current = null
    if (active?.moved || active?.kind === 'resize') return
    const { x, row, block, group } = at(event)
    if (group >= 0) onToggleGroup(group)
    if (block < 0) return
    const toggleX = 8 + indentOf(depthAt(w, rows, row))
    if (canFold(w, rows, block) && x >= toggleX - 4 && x < toggleX + 14) onToggle(block)
    else onSelect(block)
  }
  const onDoubleClick = (event: React.MouseEvent) => {
    const { x, block } = at(event)
    if (block < 0) return
    if (x < treeWidth) onToggle(block)
    else {
      const { start, duration: length } = w.times[clock]
      const air = Math.max(length[block]! * 0.15, MIN_SPAN_NS)
      setRange({ from: start[block]! - air, to: start[block]! + length[block]! + air })
    }
  }

  return (
    <div className="wf">
      <Overview w={w} clock={clock} range={range} treeWidth={treeWidth} width={size.width} cursor={hover && hover.x > treeWidth ? hover.time : null} onRange={setRange} />
      {w.markers.length > 0 && <MarkerBand w={w} clock={clock} range={range} treeWidth={treeWidth} width={size.width} onSelect={onSelect} />}
      <div
        className="wf-scroll"
        ref={scroller}
        tabIndex={0}
        role="treegrid"
        aria-label="Waterfall: spans by time"
        aria-rowcount={rows.blocks.length}
        aria-activedescendant={selected >= 0 ? `span-${selected}` : undefined}
        onScroll={schedule}
        onPointerDown={onPointerDown}
        onPointerMove={onPointerMove}
        onPointerLeave={() => setHover(null)}
        onClick={onClick}
        onDoubleClick={onDoubleClick}
      >
        <div className="wf-spacer" role="presentation" style={{ height: rows.blocks.length * ROW }}>
          <canvas className="wf-canvas" ref={canvas} aria-hidden="true" />
        </div>
        <SpanRows w={w} rows={rows} folded={folded} clock={clock} selected={selected} />
      </div>
      {hover && <Tip w={w} path={path} clock={clock} block={hover.block} x={hover.x} y={hover.y} width={size.width} height={size.height} />}
    </div>
  )
})

function Tip({ w, path, clock, block, x, y, width, height }: { w: Model; path: PathModel | null; clock: Clock; block: number; x: number; y: number; width: number; height: number }) {
  const { start, duration: length, from } = w.times[clock]
  const points = w.pointFirst[block + 1]! - w.pointFirst[block]!
  const onPath = path ? timeOnPath(path, block) : []
  const left = Math.min(x + 16, width - 300)
  const top = y > height - 130 ? y - 110 : y + 80
  return (
    <div className="tip wf-tip" role="presentation" style={{ transform: `translate(${Math.max(4, left)}px, ${top}px)` }}>
      <strong>{w.strings[w.service[block]!]}</strong> {w.strings[w.name[block]!]}
      <dl>
        <dt>duration</dt>
        <dd>{duration(length[block]!)} <span className="muted">{exactNs(length[block]!)}</span></dd>
        <dt>own time</dt>
        <dd>{duration(w.own[block]!)}</dd>
        <dt>starts at</dt>
        <dd>{duration(start[block]! - from)}</dd>
        {onPath.map(([verdict, total]) => (<Fragment key={verdict}><dt>on the path</dt><dd>{duration(total)} {verdictWords(verdict)}</dd></Fragment>))}
        {points > 0 && (<><dt>events</dt><dd>{count(points, 'event')}</dd></>)}
        {w.status[block] === 2 && (<><dt>status</dt><dd className="bad">error</dd></>)}
      </dl>
    </div>
  )
}
