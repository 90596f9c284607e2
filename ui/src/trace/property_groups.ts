import { useSyncExternalStore } from 'react'
import type { Attributes, BlockDetail, SpanAnswer } from '../api/types'

// Named groups of properties that the inspector shows first. They are kept by this browser (the server has no route
// for a reader's own settings), and apply to every trace.

export interface PropertyGroup {
  name: string
  keys: string[]
}

const KEY = 'wherefore.property-groups'
const LIMIT = 20
const listeners = new Set<() => void>()
let groups = read()

function isGroup(value: unknown): value is PropertyGroup {
  const g = value as PropertyGroup | null
  return typeof g === 'object' && g !== null && typeof g.name === 'string' && Array.isArray(g.keys) && g.keys.every((k) => typeof k === 'string')
}

function read(): PropertyGroup[] {
  try {
    const list: unknown = JSON.parse(localStorage.getItem(KEY) ?? '[]')
    return Array.isArray(list) ? list.filter(isGroup).slice(0, LIMIT) : []
  } catch {
    return []
  }
}

export function saveGroups(next: PropertyGroup[]): void {
  groups = next.filter((g) => g.keys.length > 0).slice(0, LIMIT)
  try {
    localStorage.setItem(KEY, JSON.stringify(groups))
  } catch {
    // Without storage they last as long as the page.
  }
  listeners.forEach((listener) => listener())
}

// Another tab may have changed them.
window.addEventListener('storage', (event) => {
  if (event.key !== KEY) return
  groups = read()
  listeners.forEach((listener) => listener())
})

export function usePropertyGroups(): PropertyGroup[] {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => groups,
  )
}

// Everything a span carries under one kind of name: attributes as they are, annotations as `counter:bytes`, what
// its process says as `process: host.name`. Annotations of one name that differ are listed.
export function propertiesOf(block: BlockDetail, process: NonNullable<SpanAnswer['processes']>[number] | undefined): Attributes {
  const out: Attributes = { ...(block.attributes ?? {}) }
  for (const a of block.annotations ?? []) {
    const key = `${a.kind}:${a.name}${a.unit ? ` (${a.unit})` : ''}`
    const before = out[key]
    out[key] = before === undefined ? a.value : Array.isArray(before) ? [...(before as unknown[]), a.value] : [before, a.value]
  }
  for (const [key, value] of Object.entries(process?.attributes ?? {})) out[`process: ${key}`] = value
  return out
}
