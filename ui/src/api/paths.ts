import { get } from './client'
import type { ExactInt } from './exact_json'

// Causal paths of stored messages, as docs/use/paths.md describes them.

export type Bin = [from: number, until: number, count: number]

export interface NodeAnswer {
  node: string
  latency_ns: ExactInt
  call_delay_ns: ExactInt
  steps_ns: ExactInt[]
  after_reply?: boolean
  histogram?: { latency_ns: Bin[]; call_delay_ns: Bin[]; own_ns: Bin[] }
  children: NodeAnswer[]
}

export interface PatternAnswer {
  id: string
  count: number
  total_latency_ns: ExactInt
  latency_ns: { mean: ExactInt; p50: ExactInt; p99: ExactInt }
  shape?: string
  first_ns?: ExactInt
  last_ns?: ExactInt
  timeline?: number[]
  client: string
  root: NodeAnswer
}

export interface PatternsAnswer {
  algorithm: 'nesting' | 'linking'
  why: string
  messages: number
  calls: number
  parallelism: number
  unassigned: { calls: number; returns: number; msgs: number }
  duplicates: number
  retransmissions: number
  skew_ns: Record<string, ExactInt>
  patterns: PatternAnswer[]
  omitted: { patterns: number; count: number }
  timeline?: { start_ns: ExactInt; span_ns: ExactInt; spans: { count: number; latency_ns: ExactInt }[] }
  rare_slow?: (PatternAnswer & { usual_ns: ExactInt; among: number })[]
  phases?: { id: string; client: string; node: string; from_ns: ExactInt; until_ns: ExactInt; count: number; among: number }[]
  graph?: {
    nodes: { node: string; visits: number; latency_ns: ExactInt; own_ns: ExactInt }[]
    edges: { from: string; to: string; starts_path: boolean; calls: number; probability: number; call_delay_ns: ExactInt }[]
  }
  notes?: string[]
}

export interface ConvolutionAnswer {
  algorithm: 'convolution'
  why: string
  quantum_ns: ExactInt
  vertices: { id: number; node: string }[]
  edges: { from: number; to: number; count: number; delays_ns: { delay: ExactInt; count: number }[] }[]
  messages?: number
  suppressed?: Record<string, number>
}

export type PathsAnswer = PatternsAnswer | ConvolutionAnswer

export const pathsPath = (query: URLSearchParams) => `/api/v1/paths${query.size ? `?${query}` : ''}`

export const getPaths = (query: URLSearchParams, signal?: AbortSignal) => get<PathsAnswer>(pathsPath(query), signal)
