import { useSyncExternalStore } from 'react'
import type { ThemeName } from '../parts/colours'

// The system's preference unless the reader chose otherwise; the choice is an attribute on <html>.

const KEY = 'wherefore.theme'
const system = matchMedia('(prefers-color-scheme: dark)')
const listeners = new Set<() => void>()

function stored(): ThemeName | null {
  try {
    const value = localStorage.getItem(KEY)
    return value === 'light' || value === 'dark' ? value : null
  } catch {
    return null
  }
}

let chosen = stored()

export const themeNow = (): ThemeName => chosen ?? (system.matches ? 'dark' : 'light')

export function applyTheme(): void {
  document.documentElement.dataset.theme = themeNow()
  listeners.forEach((listener) => listener())
}

system.addEventListener('change', applyTheme)

export function toggleTheme(): void {
  chosen = themeNow() === 'dark' ? 'light' : 'dark'
  try {
    // Choosing the system's theme means following the system again.
    if ((chosen === 'dark') === system.matches) {
      chosen = null
      localStorage.removeItem(KEY)
    } else localStorage.setItem(KEY, chosen)
  } catch {
    // Private windows may have no storage; the choice then lasts as long as the page.
  }
  applyTheme()
}

export function useTheme(): ThemeName {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    themeNow,
  )
}
