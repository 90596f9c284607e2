import { useRef, useState, type RefObject, type UIEvent } from 'react'
import { useSize } from './canvas'

const OVERSCAN = 8

export interface VirtualRows {
  box: RefObject<HTMLDivElement>
  first: number
  last: number
  // Heights of the rows left out above and below.
  above: number
  below: number
  onScroll: (event: UIEvent<HTMLElement>) => void
  reveal: (row: number) => void
}

// The rows to render in a scrolling box of `count` equally high rows: those in view and a few around them.
export function useVirtualRows(count: number, rowHeight: number): VirtualRows {
  const box = useRef<HTMLDivElement>(null)
  const { height } = useSize(box)
  const [top, setTop] = useState(0)
  const first = Math.max(0, Math.min(Math.floor(top / rowHeight) - OVERSCAN, count - 1))
  const last = Math.min(count, Math.ceil((top + Math.max(height, 300)) / rowHeight) + OVERSCAN)
  return {
    box,
    first,
    last,
    above: first * rowHeight,
    below: Math.max(0, (count - last) * rowHeight),
    onScroll: (event) => setTop(event.currentTarget.scrollTop),
    reveal: (row) => {
      const element = box.current
      if (!element) return
      const y = row * rowHeight
      if (y < element.scrollTop) element.scrollTop = y
      else if (y + 2 * rowHeight > element.scrollTop + element.clientHeight) element.scrollTop = y + 2 * rowHeight - element.clientHeight
    },
  }
}
