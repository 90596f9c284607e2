import { useCallback, useEffect, useLayoutEffect, useRef, useState, type RefObject } from 'react'
import { sizeCanvas, useSize } from '../parts/canvas'
import { coloursVersion, readCanvasColours } from '../parts/colours'
import { duration, exactNs, percent } from '../parts/format'
import { useZoomedRange, type Range } from '../parts/zoomed_range'
import { useTheme } from '../shell/theme'
import { paintRuler } from '../trace/overview_painter'
import { boxAt, type Boxes } from './flame_model'
import { LEVEL, paintFlame } from './flame_painter'

const RULER = 22

interface Props {
  boxes: Boxes
  strings: string[]
  label: string
  // The instant at 0 on the ruler; null: no ruler, because widths are sums and not a time range.
  origin: number | null
  range: Range | null
  onRange: (range: Range | null) => void
  selected: number
  find: string
  onSelect: (name: number) => void
  canvasRef?: RefObject<HTMLCanvasElement>
}

// Boxes on a canvas: Ctrl+wheel or W/S zooms, drag or A/D moves, arrows move between frames.
export function FlameChart({ boxes, strings, label, origin, range, onRange, selected, find, onSelect, canvasRef }: Props) {
  const theme = useTheme()
  const box = useRef<HTMLDivElement>(null)
  const ruler = useRef<HTMLCanvasElement>(null)
  const ownCanvas = useRef<HTMLCanvasElement>(null)
  const canvas = canvasRef ?? ownCanvas
  const size = useSize(box)
  const [hover, setHover] = useState<{ box: number; x: number; y: number } | null>(null)
  const [current, setCurrent] = useState(-1)
  const { shown, showRange, handleKey, beginDrag, moveDrag, endDrag } = useZoomedRange({ box, whole: { from: boxes.from, to: boxes.to }, minLength: 10, range, onRange })
  useEffect(() => setCurrent(-1), [boxes])

  const draw = useCallback(() => {
    const element = canvas.current
    const scroller = box.current
    if (!element || !scroller || scroller.clientWidth === 0) return
    const colours = readCanvasColours(theme)
    const ctx = sizeCanvas(element, scroller.clientWidth, scroller.clientHeight)
    paintFlame(ctx, { boxes, strings, from: shown.from, to: shown.to, selected, hovered: hover?.box ?? current, find }, colours, scroller.clientWidth, scroller.clientHeight, scroller.scrollTop)
    if (ruler.current && origin !== null) paintRuler(sizeCanvas(ruler.current, scroller.clientWidth, RULER), colours, 0, scroller.clientWidth, RULER, shown.from, shown.to, origin, null)
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [boxes, strings, shown.from, shown.to, selected, hover, current, find, theme, origin, size, coloursVersion()])
  useLayoutEffect(draw, [draw])

  const at = (event: React.PointerEvent | React.MouseEvent) => {
    const element = box.current!
    const bounds = element.getBoundingClientRect()
    const x = event.clientX - bounds.left
    const y = event.clientY - bounds.top
    return { x, y, box: boxAt(boxes, Math.floor((y + element.scrollTop) / LEVEL), shown.from + (x / element.clientWidth) * (shown.to - shown.from)) }
  }
  const step = (key: string): number => {
    const here = current >= 0 ? current : boxes.count > 0 ? boxAt(boxes, 0, (shown.from + shown.to) / 2) : -1
    if (current < 0) return here >= 0 ? here : boxes.count > 0 ? 0 : -1
    const middle = boxes.start[here]! + boxes.length[here]! / 2
    const level = boxes.level[here]!
    if (key === 'ArrowDown') {
      const inside = boxAt(boxes, level + 1, middle)
      return inside >= 0 ? inside : boxAt(boxes, level + 1, boxes.start[here]!)
    }
    if (key === 'ArrowUp') return boxAt(boxes, level - 1, middle)
    const next = here + (key === 'ArrowRight' ? 1 : -1)
    return next >= boxes.levelFirst[level]! && next < boxes.levelFirst[level + 1]! ? next : here
  }
  const onKeyDown = (event: React.KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const { key } = event
    if (key.startsWith('Arrow')) {
      const next = step(key)
      if (next >= 0) {
        setCurrent(next)
        box.current!.scrollTop = Math.min(box.current!.scrollTop, boxes.level[next]! * LEVEL)
        if ((boxes.level[next]! + 1) * LEVEL > box.current!.scrollTop + box.current!.clientHeight) box.current!.scrollTop = (boxes.level[next]! + 1) * LEVEL - box.current!.clientHeight
      }
    } else if (key === 'Enter' && current >= 0) onSelect(boxes.name[current]!)
    else if (key.toLowerCase() === 'f' && current >= 0) showRange(boxes.start[current]!, boxes.start[current]! + boxes.length[current]!)
    else if (!handleKey(event)) return
    event.preventDefault()
    event.stopPropagation()
  }
  const facts = (i: number) => `${strings[boxes.name[i]!]}, ${duration(boxes.length[i]!)}, ${percent(boxes.length[i]!, boxes.to - boxes.from)}`
  return (
    <div className="flame-chart">
      {origin !== null && <canvas className="flame-ruler" ref={ruler} aria-hidden="true" />}
      <div
        className="flame-scroll"
        ref={box}
        tabIndex={0}
        role="application"
        aria-roledescription="flame chart"
        aria-label={`${label}. Arrow keys move between frames, Enter selects the function.`}
        onScroll={draw}
        onKeyDown={onKeyDown}
        onPointerDown={beginDrag}
        onPointerMove={(event) => {
          if (moveDrag(event)) return setHover(null)
          const here = at(event)
          setHover(here.box >= 0 ? here : null)
        }}
        onPointerLeave={() => setHover(null)}
        onClick={(event) => {
          if (endDrag()) return
          const here = at(event)
          setCurrent(here.box)
          onSelect(here.box >= 0 ? boxes.name[here.box]! : -1)
        }}
        onDoubleClick={(event) => {
          const here = at(event)
          if (here.box >= 0) showRange(boxes.start[here.box]!, boxes.start[here.box]! + boxes.length[here.box]!)
        }}
      >
        <div className="wf-spacer" style={{ height: boxes.levels * LEVEL }}>
          <canvas className="wf-canvas" ref={canvas} aria-hidden="true" />
        </div>
      </div>
      <span className="sr-only" role="status">{current >= 0 ? facts(current) : ''}</span>
      {hover && (
        <div className="tip" role="presentation" style={{ transform: `translate(${Math.max(4, Math.min(hover.x + 14, size.width - 320))}px, ${Math.min(hover.y + 40, Math.max(40, size.height - 40))}px)` }}>
          <strong>{strings[boxes.name[hover.box]!]}</strong>
          <dl>
            <dt>time</dt>
            <dd>{duration(boxes.length[hover.box]!)} <span className="muted">{exactNs(boxes.length[hover.box]!)}</span></dd>
            <dt>share</dt>
            <dd>{percent(boxes.length[hover.box]!, boxes.to - boxes.from)}</dd>
          </dl>
        </div>
      )}
    </div>
  )
}
