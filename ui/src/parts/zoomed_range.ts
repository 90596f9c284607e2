import { useCallback, useEffect, useRef, type KeyboardEvent, type PointerEvent, type RefObject } from 'react'

export interface Range {
  from: number
  to: number
}

interface Options {
  box: RefObject<HTMLElement>
  whole: Range
  minLength: number // limit for zooming in
  range: Range | null // null: all
  onRange: (range: Range | null) => void
}

// The time range that a chart shows: Ctrl+wheel or W/S zooms; drag, A/D or the wheel sideways moves; 0 shows all.
export function useZoomedRange({ box, whole, minLength, range, onRange }: Options) {
  const shown = range ?? whole
  const now = useRef({ whole, shown })
  now.current = { whole, shown }

  const showRange = useCallback(
    (from: number, to: number) => {
      const all = now.current.whole
      const length = Math.min(Math.max(to - from, minLength), all.to - all.from)
      const start = Math.min(Math.max(from, all.from), all.to - length)
      onRange(length >= (all.to - all.from) * 0.9999 ? null : { from: start, to: start + length })
    },
    [minLength, onRange],
  )
  const zoom = useCallback(
    (factor: number, share: number) => {
      const { from, to } = now.current.shown
      const centre = from + (to - from) * share
      showRange(centre - (centre - from) * factor, centre + (to - centre) * factor)
    },
    [showRange],
  )
  useEffect(() => {
    const element = box.current
    if (!element) return
    const onWheel = (event: WheelEvent) => {
      const bounds = element.getBoundingClientRect()
      if (event.ctrlKey || event.metaKey) {
        event.preventDefault()
        zoom(Math.exp(event.deltaY * 0.0022), (event.clientX - bounds.left) / bounds.width)
      } else if (event.deltaX !== 0 || event.shiftKey) {
        event.preventDefault()
        const { from, to } = now.current.shown
        const shift = ((event.deltaX || event.deltaY) / bounds.width) * (to - from)
        showRange(from + shift, to + shift)
      }
    }
    element.addEventListener('wheel', onWheel, { passive: false })
    return () => element.removeEventListener('wheel', onWheel)
  }, [box, zoom, showRange])

  // True if it handled the key.
  const handleKey = (event: KeyboardEvent): boolean => {
    const { from, to } = shown
    const quarter = (to - from) / 4
    const key = event.key.toLowerCase()
    if (key === 'w') zoom(1 / 1.6, 0.5)
    else if (key === 's') zoom(1.6, 0.5)
    else if (key === 'a') showRange(from - quarter, to - quarter)
    else if (key === 'd') showRange(from + quarter, to + quarter)
    else if (key === '0') onRange(null)
    else return false
    return true
  }

  const drag = useRef<(Range & { x: number; moved: boolean }) | null>(null)
  const beginDrag = (event: PointerEvent) => {
    if (event.button === 0) drag.current = { x: event.clientX, ...shown, moved: false }
  }
  // True while the pointer drags the chart, so that nothing is hovered.
  const moveDrag = (event: PointerEvent): boolean => {
    const d = drag.current
    if (!d || !(event.buttons & 1)) return false
    const dx = event.clientX - d.x
    if (!d.moved && Math.abs(dx) > 4) {
      d.moved = true
      event.currentTarget.setPointerCapture(event.pointerId)
    }
    if (d.moved) {
      const shift = (-dx / event.currentTarget.clientWidth) * (d.to - d.from)
      showRange(d.from + shift, d.to + shift)
    }
    return d.moved
  }
  // True if the click only ends a drag.
  const endDrag = (): boolean => {
    const moved = drag.current?.moved ?? false
    drag.current = null
    return moved
  }
  return { shown, showRange, handleKey, beginDrag, moveDrag, endDrag }
}
