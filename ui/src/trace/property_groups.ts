import { useSyncExternalStore } from 'react'
import { ApiError, get, send } from '../api/client'
import type { Attributes, BlockDetail, SpanAnswer } from '../api/types'

// Named groups of properties that the span panel shows first. The server stores one list for all its users. It refuses a
// save over a newer version, which is then shown.

export interface PropertyGroup {
  name: string
  keys: string[]
}

interface Saved {
  groups: PropertyGroup[]
  revision: string
}

const PATH = '/api/v1/property-groups'
const OLD_KEY = 'wherefore.property-groups' // where browsers stored groups before the server did
const listeners = new Set<() => void>()
let saved: Saved = { groups: [], revision: '' }
let loadStarted = false

function publish(next: Saved): void {
  saved = next
  listeners.forEach((listener) => listener())
}

async function load(): Promise<void> {
  try {
    publish(await get<Saved>(PATH))
    await importLocalGroups()
  } catch {
    loadStarted = false // the next span panel tries again
  }
}

// Adds the groups this browser stored to the shared list once, unless the name exists.
async function importLocalGroups(): Promise<void> {
  const text = localStorage.getItem(OLD_KEY)
  if (text === null) return
  const old = parseGroups(text).filter((g) => saved.groups.every((s) => s.name !== g.name))
  if (old.length > 0 && (await saveGroups([...saved.groups, ...old])) !== null) return // tried again with the next load
  localStorage.removeItem(OLD_KEY)
}

export function parseGroups(text: string): PropertyGroup[] {
  const isGroup = (value: unknown): value is PropertyGroup => {
    const g = value as PropertyGroup | null
    return typeof g === 'object' && g !== null && typeof g.name === 'string' && g.name !== '' && Array.isArray(g.keys) && g.keys.length > 0 && g.keys.every((k) => typeof k === 'string')
  }
  try {
    const list: unknown = JSON.parse(text)
    return Array.isArray(list) ? list.filter(isGroup) : []
  } catch {
    return []
  }
}

// Null if saved, else an error message.
export async function saveGroups(groups: PropertyGroup[]): Promise<string | null> {
  try {
    publish(await send<Saved>('PUT', PATH, JSON.stringify({ groups: groups.filter((g) => g.keys.length > 0), revision: saved.revision })))
    return null
  } catch (cause) {
    if (!(cause instanceof ApiError)) throw cause
    if (cause.status !== 409) return `${cause.message} ${cause.hint}`
    await load()
    return 'Somebody else changed the groups. Their version is shown now; save again to add yours.'
  }
}

export function usePropertyGroups(): PropertyGroup[] {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      if (!loadStarted) {
        loadStarted = true
        void load()
      }
      return () => listeners.delete(listener)
    },
    () => saved.groups,
  )
}

// All properties of a span by name: attributes as they are, annotations as `counter:bytes`, attributes of its process as
// `process: host.name`. Several annotations of one name become a list.
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
