// The events of POST /api/v1/events, as far as a browser emits them (Canopy §3.3). One event is one JSON line.
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

// What is said about something: a text becomes a label, a number a counter ("bytes:B" is counter bytes in unit B).
// What is empty or undefined is not said.
export type Facts = Record<string, string | number | boolean | undefined>

// time_ns must be an integer, and no number of JavaScript is exact enough: it is put in as text.
export function toLine(traceId: string, origin: bigint, { type, id1, id2, at, facts }: Event): string {
  const where = id2 ? `,"id2":"${id2}"` : ''
  const annotations: Record<string, string> = {}
  for (const name in facts) {
    const value = facts[name]
    if (typeof value === 'number') annotations[`counter:${name}`] = `${value}`
    // Long texts are cut: a label is something to group by, not a document.
    else if (value) annotations[`label:${name}`] = `${value}`.slice(0, 256)
  }
  const said = JSON.stringify(annotations)
  return `{"trace_id":"${traceId}","type":"${type}","id1":"${id1}"${where},"time_ns":${toUnix(origin, at)}${said === '{}' ? '' : `,"annotations":${said}`}}\n`
}
