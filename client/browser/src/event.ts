// The events of POST /api/v1/events that a browser emits (Canopy §3.3), one JSON line each.
import type { Nanos } from './clock'
import { toUnix } from './clock'

export type EventType =
  | 'unit_begin' | 'unit_end' | 'block_begin' | 'block_end' | 'point' | 'edge_begin' | 'edge_end'
  | 'rpc_cs' | 'rpc_cr' | 'trace_start'

export interface Event {
  type: EventType
  id1: string
  id2?: string
  at: Nanos
  facts?: Facts
}

// Annotations: a text becomes a label, a number a counter ("bytes:B" is counter bytes in unit B). Empty and undefined
// values are left out.
export type Facts = Record<string, string | number | boolean | undefined>

// time_ns must be an integer, and JavaScript numbers are not exact enough, so it is inserted as text.
export function toLine(traceId: string, origin: bigint, { type, id1, id2, at, facts }: Event): string {
  const where = id2 ? `,"id2":"${id2}"` : ''
  const annotations: Record<string, string> = {}
  for (const name in facts) {
    const value = facts[name]
    if (typeof value === 'number') annotations[`counter:${name}`] = `${value}`
    // Long texts are cut, because labels are for grouping.
    else if (value) annotations[`label:${name}`] = `${value}`.slice(0, 256)
  }
  const text = JSON.stringify(annotations)
  return `{"trace_id":"${traceId}","type":"${type}","id1":"${id1}"${where},"time_ns":${toUnix(origin, at)}${text === '{}' ? '' : `,"annotations":${text}`}}\n`
}
