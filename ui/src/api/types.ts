import type { ExactInt } from './exact_json'

export interface TraceSummary {
  trace_id: string
  service: string
  name: string
  start_ns: bigint
  duration_ns: number
  spans: number
  errors: number
  complete: boolean
}

export interface TracesPage {
  traces: TraceSummary[]
  next: string | null
}

export interface Unit {
  id: string
  name: string
  service: string
  thread: string | null
  host: string | null
}

export interface Missing {
  what: string
  span_id: string
  may_still_come: boolean
}

export interface HostClock {
  host: string
  from_ns: ExactInt
  offset_ns: ExactInt
  error_ns: ExactInt
}

export interface Violation {
  invariant: string
  element: string
}

// The columnar answer of /api/v1/trace/ID?view=waterfall, as sent.
export interface WaterfallAnswer {
  trace_id: string
  start_ns: ExactInt
  end_ns: ExactInt
  complete: boolean
  clock: 'aligned' | 'raw'
  clock_error_ns: ExactInt
  main_root: string | null
  strings: string[]
  blocks: {
    span_id: string[]
    parent: number[]
    service: number[]
    name: number[]
    kind: number[]
    status: number[]
    start: number[]
    duration: number[]
    raw_start: number[]
    raw_duration: number[]
    flags: number[]
    own: number[]
    unit: number[]
  }
  // Names are indices into strings; 0 means none.
  units: { id: string[]; name: number[]; service: number[]; thread: number[]; host: number[]; samples: number[] }
  points: { block: number[]; time: number[]; name: number[]; marker: number[] }
  edges: {
    from_block: number[]
    from: number[]
    to_block: number[]
    to: number[]
    type: number[]
    blocking: number[]
  }
  repairs: Record<string, number>
  missing: Missing[]
  violations: Violation[]
  clocks: HostClock[]
}

export type AttributeValue = unknown
export type Attributes = Record<string, AttributeValue>

export interface BlockDetail {
  span_id: string
  parent_id: string | null
  unit: string
  service: string
  name: string
  kind: string
  status: string
  status_message?: string
  start_ns: ExactInt
  end_ns: ExactInt
  raw_start_ns: ExactInt
  raw_end_ns: ExactInt
  reference?: string
  flags?: number
  tracestate?: string
  source?: string
  probability?: number
  received_ns?: ExactInt
  scope?: { name: string; version: string; attributes?: Attributes }
  attributes?: Attributes
  annotations?: { kind: string; name: string; unit?: string; value: unknown }[]
  links?: { trace_id: string; span_id: string; attributes?: Attributes }[]
}

export interface SpanAnswer {
  trace_id: string
  start_ns: ExactInt
  units: (Unit & { process?: number })[]
  blocks: BlockDetail[]
  points: {
    id: string
    span_id: string
    type: string
    name: string
    time_ns: ExactInt
    raw_time_ns: ExactInt
    attributes?: Attributes
    annotations?: BlockDetail['annotations']
  }[]
  edges: { from: string; to: string; type: string; blocking: boolean; probability?: number }[]
  repairs: { element: string; pass: string; before: unknown; after: unknown }[]
  processes?: { service: string; host?: string | null; attributes?: Attributes }[]
  clock_error_ns?: ExactInt
}

export interface StatusAnswer {
  version: string
  uptime_ns: ExactInt
  store: Record<string, ExactInt | string | null>
  counters: Record<string, number>
  listeners: { name: string; address: string }[]
  retention?: Record<string, unknown>
  tailer?: TailerStatus
}

export interface TailerStatus {
  on: boolean
  traces_from_cache: ExactInt
  traces_delayed_done: ExactInt
  traces_unusable: ExactInt
  cache_share: number
  again_share: number
  delayed: Record<string, ExactInt>
  requeued: Record<string, ExactInt>
  delayed_queue: { traces: ExactInt; oldest_ns: ExactInt }
  cache: Record<string, ExactInt>
  features: { over_budget: ExactInt; rows_dropped: ExactInt }
  rows: { written: ExactInt; writes: ExactInt; write_failures: ExactInt }
  blacklist: { traces: ExactInt; events_dropped: ExactInt }
  stages: { name: string; waiting: ExactInt; items: ExactInt; cpu_ns: ExactInt; lag_p50_ns: ExactInt; lag_p99_ns: ExactInt }[]
  owners: { owner: string; queued: ExactInt; taken: ExactInt; refused: ExactInt; cpu_ns: ExactInt }[]
}

export interface ImportAnswer {
  files: number
  traces: number
  spans: number
  duplicates: number
  rejected: number
  repairs: Record<string, number>
  messages?: number
  trace_ids?: string[]
}

export interface PathSegment {
  span_id: string
  service: string
  name: string
  category: string
  start_ns: ExactInt
  end_ns: ExactInt
  alternatives?: string[]
}

export interface WhatIf {
  matched: ExactInt
  duration_ns: ExactInt
}

export interface CriticalPathAnswer {
  trace_id: string
  root_span_id: string
  other_roots: string[]
  start_ns: ExactInt
  end_ns: ExactInt
  clock: 'aligned' | 'raw'
  clock_error_ns: ExactInt
  complete: boolean
  segments: PathSegment[]
  what_if?: WhatIf
}

export interface PathComponent {
  service: string
  name: string
  category: string
  traces: number
  total_ns: ExactInt
  share: number
  p50_ns: ExactInt
  p95_ns: ExactInt
  max_ns: ExactInt
  max_trace_id: string
}

export interface CriticalPathsAnswer {
  traces: number
  duration_ns: ExactInt
  skipped: number
  components: PathComponent[]
  requests: { trace_id: string; service: string; name: string; start_ns: ExactInt; duration_ns: ExactInt; complete: boolean; what_if?: WhatIf }[]
  next: string | null
  what_if?: WhatIf
}

// /api/v1/trace/ID?view=stacks: frames as a tree, samples as columns ordered by (time, unit).
export interface StacksAnswer {
  trace_id: string
  start_ns: ExactInt
  end_ns: ExactInt
  clock: 'aligned' | 'raw'
  strings: string[]
  frames: { parent: number[]; name: number[] }
  samples: { time: number[]; length: number[]; unit: number[]; block: number[]; stack: number[] }
}

export interface ExplainVertexAnswer {
  id: string
  type: string
  node: string
  tuple: string
  start_ns: ExactInt
  end_ns: ExactInt
  delay_ns: ExactInt
  self_ns: ExactInt
  functional: boolean
  count: number
  origin?: string
  expired?: boolean
  members?: string[]
  // The traces and spans whose work it is; of a merged vertex, those of all its members.
  trace_ids?: string[]
  span_ids?: string[]
  baseline_ns?: ExactInt
}

// /api/v1/explain/ID, and /api/v1/explain for many requests.
export interface ExplainAnswer {
  sentence?: string
  delay_ns: ExactInt
  from: string
  root: string
  vertices: ExplainVertexAnswer[]
  edges: { from: string; to: string; kind: 'causal' | 'sequencing'; delay_ns?: ExactInt }[]
  sizes?: { raw: number; nonzero: number; pruned: number; aggregated: number }
  what_if?: { matched: ExactInt; delay_ns: ExactInt }
  // The requests explained together, in the form without a trace id.
  requests?: string[]
  // The usual time: p50 and the number of requests it comes from.
  baseline?: { requests: number; median_ns: ExactInt }
  assumed?: unknown
  loaded?: unknown
}
