import { useSyncExternalStore } from 'react'

// The URL holds the whole state of a view. One small store over the History API; views read it with useRoute()
// and write it with navigate(). Replacing (rather than pushing) is for state that Back should not step through.

export interface Route {
  path: string
  params: URLSearchParams
}

const listeners = new Set<() => void>()
let current: Route = read()

function read(): Route {
  return { path: location.pathname, params: new URLSearchParams(location.search) }
}

function onUrlChange() {
  current = read()
  listeners.forEach((listener) => listener())
}

window.addEventListener('popstate', onUrlChange)

export function navigate(url: string, how: 'push' | 'replace' = 'push'): void {
  if (url === location.pathname + location.search) return
  if (how === 'push') history.pushState(null, '', url)
  else history.replaceState(null, '', url)
  onUrlChange()
}

export function useRoute(): Route {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => current,
  )
}

export function withParams(path: string, params: URLSearchParams): string {
  const text = params.toString()
  return text ? `${path}?${text}` : path
}

// Sets or (null) removes parameters of the current URL.
export function setParams(changes: Record<string, string | null>, how: 'push' | 'replace' = 'replace'): void {
  const params = new URLSearchParams(location.search)
  for (const [key, value] of Object.entries(changes)) {
    if (value === null || value === '') params.delete(key)
    else params.set(key, value)
  }
  navigate(withParams(location.pathname, params), how)
}

// Handles plain left clicks in the page; the browser handles the rest (new tab, download).
export function followInPage(event: React.MouseEvent<HTMLAnchorElement>): void {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
  const { pathname, search } = event.currentTarget
  event.preventDefault()
  navigate(pathname + search)
}
