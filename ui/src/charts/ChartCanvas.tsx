import { forwardRef, useEffect, useImperativeHandle, useMemo, useRef, useState } from 'react'
import { sizeCanvas, useSize } from '../parts/canvas'
import { readCanvasColours } from '../parts/colours'
import { useTheme } from '../shell/theme'
import type { ChartModel, Layout, Mark, Selection } from './layout'

interface Props {
  model: ChartModel
  label: string
  chosen?: string | null
  selection?: string | null
  onPick?: (mark: Mark) => void
  onSelect?: (text: string | null) => void
}

export interface ChartHandle {
  canvas: HTMLCanvasElement | null
}

function markAt(layout: Layout, x: number, y: number): number {
  let best = -1
  let distance = layout.reach * layout.reach
  for (let i = 0; i < layout.marks.length; i++) {
    const m = layout.marks[i]!
    if (layout.reach === 0) {
      if (x >= m.x0 && x < m.x1 && y >= m.y0 && y < m.y1) return i
      continue
    }
    const d = ((m.x0 + m.x1) / 2 - x) ** 2 + ((m.y0 + m.y1) / 2 - y) ** 2
    if (d < distance) {
      distance = d
      best = i
    }
  }
  return best
}

const ordered = (s: Selection): Selection => ({ x0: Math.min(s.x0, s.x1), x1: Math.max(s.x0, s.x1), y0: Math.min(s.y0, s.y1), y1: Math.max(s.y0, s.y1) })

// A chart on a canvas: hover shows a mark's facts, a click shows its rows, dragging selects a region. With the keyboard,
// arrows move between marks and Enter picks one.
export const ChartCanvas = forwardRef<ChartHandle, Props>(function ChartCanvas({ model, label, chosen = null, selection = null, onPick, onSelect }, handle) {
  const theme = useTheme()
  const box = useRef<HTMLDivElement>(null)
  const canvas = useRef<HTMLCanvasElement>(null)
  const { width } = useSize(box)
  const [hovered, setHovered] = useState(-1)
  const [brush, setBrush] = useState<Selection | null>(null)
  const layout = useMemo(() => (width > 0 ? model.layout(width) : null), [model, width])
  useImperativeHandle(handle, () => ({ get canvas() { return canvas.current } }), [])
  useEffect(() => setHovered(-1), [layout])
  useEffect(() => {
    if (!layout || !canvas.current) return
    const kept = selection && layout.selectionFromText ? layout.selectionFromText(selection) : null
    layout.paint(sizeCanvas(canvas.current, layout.width, layout.height), readCanvasColours(theme), { hovered, chosen, selection: brush ? ordered(brush) : kept })
  })
  const at = (event: React.PointerEvent) => {
    const bounds = canvas.current!.getBoundingClientRect()
    return { x: event.clientX - bounds.left, y: event.clientY - bounds.top }
  }
  const clampX = (x: number) => Math.max(layout!.plot.left, Math.min(x, layout!.plot.right))
  const clampY = (y: number) => Math.max(layout!.plot.top, Math.min(y, layout!.plot.bottom))
  const onPointerUp = (event: React.PointerEvent) => {
    if (!layout) return
    const b = brush && ordered(brush)
    setBrush(null)
    if (b && onSelect && layout.selectionToText && (b.x1 - b.x0 > 5 || (layout.brush === 'xy' && b.y1 - b.y0 > 5))) {
      onSelect(layout.selectionToText(b))
      return
    }
    const { x, y } = at(event)
    const mark = layout.marks[markAt(layout, x, y)]
    if (mark) onPick?.(mark)
    else if (selection) onSelect?.(null)
  }
  const onKeyDown = (event: React.KeyboardEvent) => {
    if (!layout || layout.marks.length === 0) return
    const n = layout.marks.length
    if (event.key === 'ArrowRight' || event.key === 'ArrowDown') setHovered((hovered + 1) % n)
    else if (event.key === 'ArrowLeft' || event.key === 'ArrowUp') setHovered((hovered - 1 + n) % n)
    else if (event.key === 'Enter' && layout.marks[hovered]) onPick?.(layout.marks[hovered]!)
    else if (event.key === 'Escape') setHovered(-1)
    else return
    event.preventDefault()
  }
  const mark = layout?.marks[hovered]
  return (
    <div className="plot" ref={box}>
      <div
        className={`plot-scroll ${mark && onPick ? 'pointing' : ''}`}
        style={{ height: layout?.height ?? 280 }}
        tabIndex={0}
        role="group"
        aria-label={`${label}: use the arrow keys to move between points, Enter to show the rows behind one`}
        onKeyDown={onKeyDown}
        onPointerDown={(event) => {
          if (event.button !== 0 || !layout) return
          const { x, y } = at(event)
          if (layout.brush && onSelect) {
            event.currentTarget.setPointerCapture(event.pointerId)
            setBrush(layout.brush === 'x' ? { x0: clampX(x), x1: clampX(x), y0: layout.plot.top, y1: layout.plot.bottom } : { x0: clampX(x), x1: clampX(x), y0: clampY(y), y1: clampY(y) })
          }
        }}
        onPointerMove={(event) => {
          if (!layout) return
          const { x, y } = at(event)
          if (brush) setBrush({ ...brush, x1: clampX(x), ...(layout.brush === 'xy' ? { y1: clampY(y) } : {}) })
          else setHovered(markAt(layout, x, y))
        }}
        onPointerUp={onPointerUp}
        onPointerCancel={() => setBrush(null)}
        onPointerLeave={() => !brush && setHovered(-1)}
      >
        <canvas ref={canvas} role="img" aria-label={`${label}. ${model.sentence}. The table below has the same data.`} />
      </div>
      <div className="sr-only" role="status">{mark && `${mark.title}: ${mark.lines.map(([k, v]) => `${k} ${v}`).join(', ')}`}</div>
      {mark && layout && !brush && (
        <div className="tip" aria-hidden="true" style={{ transform: `translate(${Math.max(4, Math.min((mark.x0 + mark.x1) / 2 - (box.current?.firstElementChild?.scrollLeft ?? 0) + 14, width - 270))}px, ${Math.max(4, Math.min(mark.y0 + 14, layout.height - 90))}px)` }}>
          <strong>{mark.title}</strong>
          <dl>{mark.lines.map(([k, v]) => <div key={k} className="tip-row"><dt>{k}</dt><dd>{v}</dd></div>)}</dl>
          {onPick && <span className="muted">click to show its rows</span>}
        </div>
      )}
    </div>
  )
})
