import { count, duration } from '../parts/format'
import { Inferred, StandIn, type Waterfall } from './waterfall_model'

// Sentences about a trace: what the request was, how long it took, and what is missing.

export function describeRequest(w: Waterfall): { service: string; name: string; took: string; tookNs: number; rootMissing: boolean } {
  const { from, to, duration: lengths } = w.times.aligned
  let root = w.mainRoot
  const rootMissing = root >= 0 && (w.flags[root]! & StandIn) !== 0
  const tookNs = w.count === 0 ? 0 : root >= 0 ? Math.max(lengths[root]!, 0) : to - from
  // A placeholder has no useful name, so the first span that arrived names the trace.
  while (root >= 0 && root < w.count - 1 && (w.flags[root]! & StandIn) !== 0) root++
  return {
    service: root >= 0 ? w.strings[w.service[root]!]! : 'unknown',
    name: root >= 0 ? w.strings[w.name[root]!]! : 'trace without spans',
    took: duration(tookNs),
    tookNs,
    rootMissing,
  }
}

export function describeSize(w: Waterfall): string {
  // A placeholder is inferred too, but from its children and not from messages.
  const inferred = w.flags.some((f) => (f & Inferred) !== 0 && (f & StandIn) === 0)
  return `${count(w.count - w.standIns, 'span')} in ${count(w.services.length, 'service')}${inferred ? ', inferred from messages' : ''}`
}

export function describeMissing(w: Waterfall): { sentence: string; mayStillCome: boolean } | null {
  if (w.complete && w.missing.length === 0) return null
  const kinds = new Map<string, number>()
  for (const m of w.missing) kinds.set(m.what, (kinds.get(m.what) ?? 0) + 1)
  const parts = [...kinds].map(([what, n]) => `${n} ${NAMES[what]?.[n === 1 ? 0 : 1] ?? `× ${what.replace(/_/g, ' ')}`}`)
  const mayStillCome = w.missing.some((m) => m.may_still_come)
  if (parts.length === 0) {
    const several = (w.repairs['several_roots'] ?? 0) > 0
    return { sentence: several ? 'This trace has several roots that nothing connects.' : 'This trace is incomplete.', mayStillCome }
  }
  return { sentence: `This trace is incomplete: ${parts.join(', ')} missing.`, mayStillCome }
}

const NAMES: Record<string, [string, string]> = {
  parent: ['parent span', 'parent spans'],
  end: ['end of a span', 'ends of spans'],
  begin: ['start of a span', 'starts of spans'],
  block: ['span', 'spans'],
  unit: ['execution unit', 'execution units'],
  send: ['send', 'sends'],
  receive: ['receive', 'receives'],
  caller: ['caller', 'callers'],
  callee: ['callee', 'callees'],
  element: ['annotated element', 'annotated elements'],
}

const PASSES: Record<string, string> = {
  missing_end: 'had no end; set to the latest end among children',
  missing_begin: 'had no start; set to the earliest start among children',
  end_before_start: 'ended before they started; end set to start',
  stray_point: 'events outside their span; moved to the nearest bound',
  missing_parent: 'named a parent that never arrived; a placeholder took its place',
  shared_span_id: 'shared one id between client and server; the server became the child',
  duplicate_id: 'reused an id; given a new one',
  cycle: 'were their own ancestor; cut above the earliest span',
  several_roots: 'roots in one trace; the main one is shown first',
  missing_block: 'named a span that never arrived; a placeholder took its place',
  missing_unit: 'named an execution unit that never arrived; a placeholder took its place',
  half_edge: 'edges with only one end; left out',
  no_response: 'requests without a response',
  late: 'arrived after the trace was built; it was rebuilt',
}

export const repairMeaning = (pass: string): string => PASSES[pass] ?? pass.replace(/_/g, ' ')
