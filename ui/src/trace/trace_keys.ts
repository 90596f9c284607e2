import { useEffect, useRef, type RefObject } from 'react'
import type { WaterfallHandle } from './Waterfall'
import { canFold, type Rows, type Waterfall } from './waterfall_model'

export const TRACE_VIEWS = ['waterfall', 'table', 'path', 'flame'] as const
export type TraceViewName = (typeof TRACE_VIEWS)[number]

interface Actions {
  w: Waterfall
  rows: Rows
  selected: number
  folded: ReadonlySet<number>
  waterfall: RefObject<WaterfallHandle>
  select: (block: number) => void
  toggle: (block: number) => void
  nextMatch: (step: 1 | -1) => void
  nextError: () => void
  mostOwn: () => void
  switchClock: () => void
  setView: (view: TraceViewName) => void
  showPath: () => void
  pathFrom: () => void
  pathTo: () => void
  group: () => void
  explain: () => void
  find: () => void
  help: () => void
}

const MOVES: Record<string, (h: WaterfallHandle, amount: number) => void> = {
  w: (h, t) => h.zoom(Math.exp(-2.2 * t)),
  s: (h, t) => h.zoom(Math.exp(2.2 * t)),
  a: (h, t) => h.pan(-0.9 * t),
  d: (h, t) => h.pan(0.9 * t),
}

// One listener for the page, so that keys work wherever the focus is, except in a field or a dialog.
export function useTraceKeys(actions: Actions): void {
  const latest = useRef(actions)
  latest.current = actions
  useEffect(() => {
    const held = new Set<string>()
    let frame = 0
    let before = 0
    const glide = (now: number) => {
      const handle = latest.current.waterfall.current
      const seconds = Math.min((now - before) / 1000, 0.05)
      before = now
      if (handle) held.forEach((key) => MOVES[key]!(handle, seconds))
      frame = held.size ? requestAnimationFrame(glide) : 0
    }
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return
      const key = event.key.length === 1 ? event.key.toLowerCase() : event.key
      const a = latest.current
      if (MOVES[key]) {
        if (!event.repeat && a.waterfall.current) {
          MOVES[key]!(a.waterfall.current, 0.1)
          held.add(key)
          before = performance.now()
          if (!frame) frame = requestAnimationFrame(glide)
        }
      } else if (!handleKey(key, event, a)) return
      event.preventDefault()
    }
    const onKeyUp = (event: KeyboardEvent) => held.delete(event.key.toLowerCase())
    const release = () => held.clear()
    window.addEventListener('keydown', onKeyDown)
    window.addEventListener('keyup', onKeyUp)
    window.addEventListener('blur', release)
    return () => {
      cancelAnimationFrame(frame)
      window.removeEventListener('keydown', onKeyDown)
      window.removeEventListener('keyup', onKeyUp)
      window.removeEventListener('blur', release)
    }
  }, [])
}

function typing(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false
  return target.closest('input, textarea, select, dialog, [contenteditable]') !== null
}

// A focused button or link gets Enter first.
const onControl = (target: EventTarget | null) => target instanceof HTMLElement && target.closest('button, a, summary') !== null

function handleKey(key: string, event: KeyboardEvent, a: Actions): boolean {
  const { rows, selected } = a
  const row = selected >= 0 ? rows.rowOf[selected]! : -1
  const last = rows.blocks.length - 1
  // Skips group headings in the direction of the move, or back at the end.
  const go = (to: number) => {
    let at = Math.max(0, Math.min(last, to))
    const step = to < row ? -1 : 1
    while (rows.blocks[at]! < 0 && at + step >= 0 && at + step <= last) at += step
    while (rows.blocks[at]! < 0 && at - step >= 0 && at - step <= last) at -= step
    if (rows.blocks[at]! >= 0) a.select(rows.blocks[at]!)
  }
  switch (key) {
    case 'j': case 'ArrowDown': go(row + 1); return true
    case 'k': case 'ArrowUp': go(Math.max(0, row - 1)); return true
    case 'PageDown': go(row + 20); return true
    case 'PageUp': go(row - 20); return true
    case 'Home': go(0); return true
    case 'End': go(last); return true
    case 'ArrowLeft':
      if (selected < 0) return false
      if (canFold(a.w, rows, selected) && !a.folded.has(selected)) a.toggle(selected)
      else if (a.w.parent[selected]! >= 0) a.select(a.w.parent[selected]!)
      return true
    case 'ArrowRight':
      if (selected < 0) return false
      if (a.folded.has(selected)) a.toggle(selected)
      else if (canFold(a.w, rows, selected)) go(row + 1)
      return true
    case 'Enter':
      if (selected < 0 || onControl(event.target)) return false
      a.toggle(selected)
      return true
    case 'f': if (selected >= 0) a.waterfall.current?.zoomTo(selected); return selected >= 0
    case '0': a.waterfall.current?.reset(); return true
    case '/': a.find(); return true
    case 'n': a.nextMatch(event.shiftKey ? -1 : 1); return true
    case 'e': a.nextError(); return true
    case 'm': a.mostOwn(); return true
    case 'c': a.switchClock(); return true
    case '1': a.setView('waterfall'); return true
    case '2': a.setView('table'); return true
    case '3': a.setView('path'); return true
    case '4': a.setView('flame'); return true
    case 'p': a.showPath(); return true
    case '[': if (selected >= 0) a.pathFrom(); return selected >= 0
    case ']': if (selected >= 0) a.pathTo(); return selected >= 0
    case 'g': a.group(); return true
    case 'x': a.explain(); return true
    case '?': a.help(); return true
    case 'Escape': a.select(-1); return true
    default: return false
  }
}
