// Clicks and scrolls start traces (Canopy §4.1, its footnote).
import type { Nanos } from './clock'
import { MS, fromMs, now } from './clock'
import type { Facts } from './event'
import { guard, listen } from './guard'
import type { Trace } from './trace'

type Start = (cause: 'click' | 'scroll', at: Nanos, name: string, facts: Facts) => Trace | undefined

// Names an element without its content: by data-wherefore, else by tag and id.
function describe(target: EventTarget | null): string {
  const found = target instanceof Element && (target.closest('[data-wherefore],a,button,[id]') ?? target)
  if (!found) return 'document'
  return found.getAttribute('data-wherefore') ?? found.tagName.toLowerCase() + (found.id && `#${found.id}`)
}

// The event's timestamp, but not later than now.
const timeOf = (event: Event): Nanos => Math.min(fromMs(event.timeStamp), now())

export const watchClicks = (start: Start): (() => void) =>
  listen(['click'], (event) => {
    // A click made by code belongs to the trace of what made it.
    const trace = event.isTrusted && start('click', timeOf(event), 'click', { target: describe(event.target) })
    // The first frame after the handlers is the first that can show the result.
    if (trace) requestAnimationFrame(() => setTimeout(guard(() => trace.point('next_paint', now()))))
  })

const BY_HAND = 1000 * MS // max time between an input and the scroll it caused

export function watchScrolls(start: Start): () => void {
  let input = -BY_HAND
  let trace: Trace | undefined
  const undo = [
    listen(['wheel', 'touchmove', 'keydown', 'pointerdown'], (event) => {
      input = timeOf(event)
    }),
    listen(['scroll', 'scrollend'], (event) => {
      const at = timeOf(event)
      if (trace && !trace.ended) {
        if (event.type === 'scrollend') trace.point('scroll_end', at)
        else trace.lastActivity = Math.max(trace.lastActivity, at)
      } else if (at - input <= BY_HAND) {
        // Scrolls made by code, or by the browser when it returns to a page, start no trace.
        trace = start('scroll', at, 'scroll', { target: describe(event.target) })
      }
    }),
  ]
  return () => undo.forEach((step) => step())
}
