// Clicks and scrolls as trace starts (Canopy §4.1, its footnote). Listeners are passive and see events before the page's
// own, so that the page's handlers already run within the trace.
import type { Nanos } from './clock'
import { MS, fromMs, now } from './clock'
import type { Facts } from './event'
import { guard, listen } from './guard'
import type { Trace } from './trace'

type Start = (cause: 'click' | 'scroll', at: Nanos, name: string, facts: Facts) => Trace | undefined

// Which element, without a word of what stands in it: data-wherefore if the page gives one, else tag and id.
function describe(target: EventTarget | null): string {
  const found = target instanceof Element && (target.closest('[data-wherefore],a,button,[id]') ?? target)
  if (!found) return 'document'
  return found.getAttribute('data-wherefore') ?? found.tagName.toLowerCase() + (found.id && `#${found.id}`)
}

// An event's own time, if it is on this page's clock and not ahead of it.
const timeOf = (event: Event): Nanos => Math.min(fromMs(event.timeStamp), now())

export const watchClicks = (start: Start): (() => void) =>
  listen(['click'], (event) => {
    // A click that code made is the work of something else, which has its own trace.
    const trace = event.isTrusted && start('click', timeOf(event), 'click', { target: describe(event.target) })
    // The frame after the handlers is the first that can show what the click did.
    if (trace) requestAnimationFrame(() => setTimeout(guard(() => trace.point('next_paint', now()))))
  })

const BY_HAND = 1000 * MS // between an input and the scroll it caused

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
        // Scrolls that code makes, or the browser when it comes back to a page, are nobody's request.
        trace = start('scroll', at, 'scroll', { target: describe(event.target) })
      }
    }),
  ]
  return () => undo.forEach((step) => step())
}
