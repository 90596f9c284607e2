// The border to the page. Whatever the page or the browser calls goes through here: our faults must not become theirs.
import { lose } from './losses'

export function guard<A extends unknown[]>(body: (...args: A) => void): (...args: A) => void {
  return (...args) => {
    try {
      body(...args)
    } catch {
      lose('internal_error')
    }
  }
}

// Passive, and before the page's own listeners, so that its handlers already run within the trace. Gives what stops it.
export function listen(names: string[], body: (event: Event) => void): () => void {
  const guarded = guard(body)
  const options = { capture: true, passive: true }
  for (const name of names) addEventListener(name, guarded, options)
  return () => {
    for (const name of names) removeEventListener(name, guarded, options)
  }
}
