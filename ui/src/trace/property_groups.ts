import { useSyncExternalStore } from 'react'
import { ApiError, get, send } from '../api/client'
import type { Attributes, BlockDetail, SpanAnswer } from '../api/types'

// Named groups of properties that the inspector shows first, for every trace. They are kept by the server, one list for
// everybody who reads its traces; a save over somebody else's is refused, and what they saved is shown.

export interface PropertyGroup {
  name: string
  keys: string[]
}

interface Saved {
  groups: PropertyGroup[]
  revision: string
}

const PATH = '/api/v1/property-groups'
const OLD_KEY = 'wherefore.property-groups' // where a browser kept its own, before they were shared
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
    loadStarted = false // the trace can be read without; asked again by the next reader
  }
}

// Groups of this browser's own are added to the shared ones once, unless there is one of that name.
async function importLocalGroups(): Promise<void> {
  const text = localStorage.getItem(OLD_KEY)
  if (text === null) return
  const old = parseGroups(text).filter((g) => saved.groups.every((s) => s.name !== g.name))
  if (old.length > 0 && (await saveGroups([...saved.groups, ...old])) !== null) return // tried again another time
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

// Null when it is saved, else what to tell the reader.
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
