// Everything the page or the browser calls goes through here, so that our errors do not reach the page.
import { countLoss } from './losses'

export function guard<A extends unknown[]>(body: (...args: A) => void): (...args: A) => void {
  return (...args) => {
    try {
      body(...args)
    } catch {
      countLoss('internal_error')
    }
  }
}

// Listens passively and before the page's listeners, so that its handlers run within the trace. Returns a function that
// stops it.
export function listen(names: string[], body: (event: Event) => void): () => void {
  const guarded = guard(body)
  const options = { capture: true, passive: true }
  for (const name of names) addEventListener(name, guarded, options)
  return () => {
    for (const name of names) removeEventListener(name, guarded, options)
  }
}
