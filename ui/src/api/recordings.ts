import { get, searchTraces } from './client'
import type { ExactInt } from './exact_json'
import type { TracesPage } from './types'

// Recorded programs (docs/use/recording.md). Times are nanoseconds since the recording began.

export interface Site {
  function: string | null
  file: string | null
  line: number | null
  module: string | null
  offset: number | null
}

export interface SubComputation {
  id: string
  thread: number
  index: number
  clock: number[]
  start_ns: number
  end_ns: number | null
  wait_ns: number
  sync: { op: string | null; object: number | null; site: Site } | null
  reads?: number | null
  writes?: number | null
  read_pages?: string[]
  write_pages?: string[]
}

export interface GraphEdge {
  from: string
  to: string
  kind: 'control' | 'sync' | 'data'
  object?: number
  pages?: number
}

export interface Transfer {
  sub_computation: string
  op: string
  kind: string
  name: string
  range: [number, number]
}

export interface RecordingGraph {
  depth: string[]
  complete: boolean
  threads: { id: number; parent: number | null; name: string }[]
  objects: { id: number; kind: string; address: string | null; symbol: string | null; thread?: number }[]
  sub_computations: SubComputation[]
  edges: GraphEdge[]
  inputs: Transfer[]
  outputs: Transfer[]
}

export interface RecordingSummary {
  threads: number
  sub_computations: number
  edges: { control: number; sync: number; data: number }
  complete: boolean
  depth: string[]
  started_unix_ns: ExactInt
  duration_ns: number
  wait_ns: number
  lost: Record<string, number>
}

export interface Lineage {
  sources?: { kind: string; name: string; ranges: [number, number][]; unordered: boolean }[]
  sinks?: { kind: string; name: string; ranges: [number, number][]; unordered: boolean }[]
  sub_computations: { id: string; unordered: boolean }[]
}

export interface Race {
  page: string
  symbol: string | null
  a: string
  b: string
  a_access: string
  b_access: string
  pairs: number
}

export const recordingPath = (id: string, params: Record<string, string>): string => `/api/v1/cpg/${encodeURIComponent(id)}?${new URLSearchParams(params)}`

export const getSummary = (id: string, signal?: AbortSignal) => get<RecordingSummary>(recordingPath(id, { what: 'summary' }), signal)

export const getGraph = (id: string, params: Record<string, string>, signal?: AbortSignal) => get<RecordingGraph>(recordingPath(id, { what: 'graph', ...params }), signal)

export const getLineage = (id: string, params: Record<string, string>, signal?: AbortSignal) => get<Lineage>(recordingPath(id, { what: 'lineage', ...params }), signal)

export const getRaces = async (id: string, signal?: AbortSignal) => (await get<{ races: Race[] }>(recordingPath(id, { what: 'races' }), signal)).races

// The trace of a recording carries the label `recording`.
export async function getRecordings(signal?: AbortSignal): Promise<TracesPage['traces']> {
  const pages = await Promise.all(
    ['complete', 'cut off'].map((how) => searchTraces(new URLSearchParams({ attr: `label:recording=${how}`, since: '0', limit: '200' }), signal)),
  )
  return pages.flatMap((page) => page.traces).sort((a, b) => (a.start_ns < b.start_ns ? 1 : -1))
}
