import { count } from '../parts/format'

// The server's assumptions as sentences. The server may add fields; unknown ones are ignored.

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

const object = (value: unknown): Record<string, unknown> => (value && typeof value === 'object' ? (value as Record<string, unknown>) : {})
const numberOf = (of: Record<string, unknown>, key: string): number => (typeof of[key] === 'number' ? (of[key] as number) : 0)

export function describeAssumptions(assumed: unknown, loaded: unknown): string[] {
  const a = object(assumed)
  const arrivals = object(a.arrivals)
  const out: string[] = []
  for (const r of Array.isArray(a.resources) ? (a.resources as AssumedResource[]) : []) {
    const parts: string[] = []
    if (r.servers !== undefined) parts.push(`${r.servers} at once (${BY[r.servers_by ?? ''] ?? r.servers_by ?? 'unknown'})`)
    if (r.kind) parts.push(`${r.kind} (${BY[r.kind_by ?? ''] ?? r.kind_by ?? 'unknown'})`)
    if (r.resource && parts.length > 0) out.push(`${r.resource}: ${parts.join(', ')}`)
  }
  const addLine = (n: number, one: string, rest: string) => n > 0 && out.push(`${count(n, one)} ${rest}`)
  addLine(numberOf(arrivals, 'least_one_way'), 'arrival', 'not recorded: assumed to be the send time plus the min one-way time seen.')
  addLine(numberOf(arrivals, 'span_start'), 'arrival', 'unknown: assumed to be the span’s start.')
  addLine(numberOf(a, 'spans_moved'), 'span', 'moved inside the span that waited for it.')
  addLine(numberOf(a, 'causes_dropped'), 'cause', 'left out: contradicts the times.')
  addLine(numberOf(a, 'holds_dropped'), 'hold', 'left out: more at once than the resource allows.')
  addLine(numberOf(object(loaded), 'waits_ignored'), 'wait', 'too short to matter: not examined.')
  return out
}

// What the server did not read of other traces, so that causes may be missing.
export function describeOmissions(loaded: unknown): string | null {
  const l = object(loaded)
  const parts: string[] = []
  const addLine = (n: number, one: string, rest: string) => n > 0 && parts.push(`${count(n, one)} ${rest}`)
  addLine(numberOf(l, 'left_out_traces'), 'trace', 'over the limit, not read')
  addLine(numberOf(l, 'stretches_cut'), 'wait', 'examined only in part')
  addLine(numberOf(l, 'left_out_queries'), 'wait', 'not examined: too many')
  addLine(numberOf(l, 'traces_refused'), 'trace', 'left out: inconsistent events')
  return parts.length > 0 ? parts.join(', ') : null
}
