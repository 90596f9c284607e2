import { searchTraces } from '../api/client'
import { queryStored, type Value } from '../api/queries'
import { numberOf, valueText } from './query_results'
import { tracesOfGroup, type Item, type Outline } from './query_text'

// Finds stored traces for a group of a result. If the store has the events that the query names, the query runs again with
// the group's keys as conditions, which gives exactly the group's traces. Otherwise (tracepoints of a live query are seldom
// spans) it searches traces of the same process and time, and says which keys it could not use.

export interface Span {
  fromNs: bigint
  untilNs: bigint
}

export type Examples =
  | { kind: 'exact'; query: string; traces: { id: string; tuples: number }[]; more: number }
  | { kind: 'near'; search: URLSearchParams; used: string[]; unused: string[]; traces: { id: string; label: string; durationNs: number; startNs: bigint }[] }
  | { kind: 'none'; why: string }

const SHOWN = 10

interface Keyed {
  item: Item
  value: Value
}

// A search matches one span, so it can only use keys of one alias.
export function searchFor(keys: Keyed[], span: Span | null): { search: URLSearchParams; used: string[]; unused: string[] } {
  const byAlias = new Map<string, { keyed: Keyed; set: (p: URLSearchParams) => void }[]>()
  for (const keyed of keys) {
    const [, alias, variable] = /^\s*(\w+)\.([\w.]+)\s*$/.exec(keyed.item.text) ?? []
    const { value } = keyed
    if (!alias || value === null || Array.isArray(value)) continue
    const text = String(value)
    const set =
      variable === 'procName' ? (p: URLSearchParams) => p.set('service', text)
      : variable === 'host' ? (p: URLSearchParams) => p.append('attr', `host.name=${text}`)
      : variable === 'procId' ? (p: URLSearchParams) => p.append('attr', `process.pid=${text}`)
      : variable === 'tracepoint' ? (p: URLSearchParams) => p.set('operation', text.replace(/\.end$/, ''))
      : variable === 'time' || variable === 'alignedTime' ? null
      : (p: URLSearchParams) => p.append('attr', `${variable}=${text}`)
    if (set) byAlias.set(alias, [...(byAlias.get(alias) ?? []), { keyed, set }])
  }
  const best = [...byAlias.values()].sort((a, b) => b.length - a.length)[0] ?? []
  const search = new URLSearchParams()
  for (const { set } of best) set(search)
  if (span) {
    search.set('since', String(span.fromNs))
    search.set('until', String(span.untilNs))
  }
  const say = (k: Keyed) => `${k.item.name} = ${valueText(k.value)}`
  const used = best.map((b) => b.keyed)
  return { search, used: used.map(say), unused: keys.filter((k) => !used.includes(k)).map(say) }
}

export async function examplesOf(o: Outline, keys: Keyed[], span: Span | null, range: URLSearchParams | null, signal: AbortSignal): Promise<Examples> {
  const query = tracesOfGroup(o, keys, range ? null : span)
  // A group keyed by a list or by an aggregate sub-query cannot be queried again; then only the search is left.
  const answer = query === null ? null : await queryStored(query, range ?? new URLSearchParams(), signal).catch((cause: unknown) => {
    if (signal.aborted) throw cause
    return null
  })
  const found = (answer?.rows ?? []).filter((row) => typeof row[0] === 'string')
  if (query !== null && found.length > 0) {
    const traces = found.map((row) => ({ id: row[0] as string, tuples: numberOf(row[1]) ?? 0 })).sort((a, b) => b.tuples - a.tuples)
    return { kind: 'exact', query, traces: traces.slice(0, SHOWN), more: Math.max(0, traces.length - SHOWN) }
  }
  const { search, used, unused } = searchFor(keys, span)
  if (used.length === 0) return { kind: 'none', why: 'None of its keys is a process, a host or a span attribute, so traces cannot be searched for it.' }
  const asked = new URLSearchParams(search)
  asked.set('limit', String(SHOWN))
  const page = await searchTraces(asked, signal)
  return {
    kind: 'near', search, used, unused,
    traces: page.traces.map((t) => ({ id: t.trace_id, label: `${t.service} ${t.name}`, durationNs: t.duration_ns, startNs: t.start_ns })),
  }
}
