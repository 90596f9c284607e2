import { useEffect, useState } from 'react'
import { ApiError } from './client'

export interface Answer<T> {
  data: T | null
  error: ApiError | null
  loading: boolean
}

// Runs `load` when `key` or `reloads` changes and drops late answers to an older key. While the same key reloads, the
// previous data stays visible.
export function useAnswer<T>(key: string, reloads: number, load: (signal: AbortSignal) => Promise<T>): Answer<T> {
  const [state, setState] = useState<Answer<T> & { key: string }>({ key, data: null, error: null, loading: true })
  useEffect(() => {
    const abort = new AbortController()
    setState((old) => ({ key, data: old.key === key ? old.data : null, error: null, loading: true }))
    load(abort.signal).then(
      (data) => !abort.signal.aborted && setState({ key, data, error: null, loading: false }),
      (cause: unknown) => {
        if (abort.signal.aborted) return
        const error =
          cause instanceof ApiError
            ? cause
            : new ApiError('internal', String(cause), 'This is a bug in the page; please report it.', key, 0)
        setState((old) => ({ key, data: old.key === key ? old.data : null, error, loading: false }))
      },
    )
    return () => abort.abort()
    // `load` is a new closure on each render; `key` changes when its answer may.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [key, reloads])
  return state.key === key ? state : { data: null, error: null, loading: true }
}
