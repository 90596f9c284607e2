import { count } from '../parts/format'

// What the server took for granted, as sentences. The shape may grow: whatever is not known here is left out.

interface AssumedResource {
  resource: string
  servers?: number
  servers_by?: string
  kind?: string
  kind_by?: string
}

const BY: Record<string, string> = {
  config: 'as configured',
  threads: 'by the threads seen',
  waits: 'by how long requests waited',
  concurrency: 'by how many ran at once',
}

export function assumptions(assumed: unknown): string[] {
  if (!assumed || typeof assumed !== 'object') return []
  const a = assumed as Record<string, unknown>
  const number = (key: string) => (typeof a[key] === 'number' ? (a[key] as number) : 0)
  const out: string[] = []
  for (const r of Array.isArray(a.resources) ? (a.resources as AssumedResource[]) : []) {
    const parts: string[] = []
    if (r.servers !== undefined) parts.push(`${r.servers} at once (${BY[r.servers_by ?? ''] ?? r.servers_by ?? 'unknown'})`)
    if (r.kind) parts.push(`${r.kind} (${BY[r.kind_by ?? ''] ?? r.kind_by ?? 'unknown'})`)
    if (r.resource && parts.length > 0) out.push(`${r.resource}: ${parts.join(', ')}`)
  }
  if (number('arrivals_estimated') > 0) out.push(`${count(number('arrivals_estimated'), 'arrival')} not recorded: taken for the send plus the least one-way time seen.`)
  if (number('arrivals_unknown') > 0) out.push(`${count(number('arrivals_unknown'), 'arrival')} not known at all: taken for the span’s start.`)
  if (number('spans_moved') > 0) out.push(`${count(number('spans_moved'), 'span')} moved into the bounds of who waited for them.`)
  if (number('causes_dropped') > 0) out.push(`${count(number('causes_dropped'), 'cause')} left out: they contradict the times.`)
  return out
}
