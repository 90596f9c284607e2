// Explanations for the mock server: a checkout that waited on storage behind many requests of maintenance, in the
// format of the server. With `apart` vertices are not merged. Numbers add up: each vertex's delay is its own time plus the
// delay of its causes.
const MS = 1_000_000

export function explainMock(spans, { others = 58, otherTraces = [], apart = false, baseline = false, whatIf = [], expired = false } = {}) {
  const traceId = spans[0].traceId
  const span = (name) => spans.find((s) => s.name === name) ?? spans[0]
  const start = span('POST /checkout').startNs
  const vertices = []
  const edges = []
  const add = (s, type, serial, node, tuple, delayMs, ownMs, from, to, more = {}) => {
    const v = {
      id: `${traceId}:${s.spanId}:${serial}`, type, node, tuple: `${tuple}(${s.spanId})`, start_ns: start + BigInt(from * MS), end_ns: start + BigInt(to * MS), delay_ns: delayMs * MS, self_ns: ownMs * MS,
      functional: true, count: 1, origin: 'frontend', intervals_ns: [], self_intervals_ns: [], trace_ids: [traceId], span_ids: [s.spanId], ...more,
    }
    vertices.push(v)
    return v.id
  }
  const edge = (from, to, kind, delayMs) => edges.push({ from, to, kind, delay_ns: delayMs * MS })
  const [root, price, items, rules, call] = [span('POST /checkout'), span('GET /price'), span('GET /items'), span('discount rules'), span('GET storage/items')]
  // Off-path work: `others` rewrites of 9 s in all, seven other reads of 2 s.
  const off = (name, node, origin, n, totalMs, from, more = {}) => {
    const share = totalMs / n
    const singles = Array.from({ length: n }, (_, i) => {
      const other = otherTraces[i % Math.max(1, otherTraces.length)] ?? spans
      const s = other.find((o) => o.name === name) ?? other[0]
      return {
        id: `${s.traceId}:${s.spanId}:${name.length}-${i}`, type: 'DRV', node, tuple: `${name}(${s.spanId})`, start_ns: start + BigInt(Math.round((from + i * share) * MS)), end_ns: start + BigInt(Math.round((from + (i + 1) * share) * MS)),
        delay_ns: Math.round(share * MS), self_ns: Math.round(share * MS), functional: false, count: 1, origin, intervals_ns: [], self_intervals_ns: [], trace_ids: [s.traceId], span_ids: [s.spanId], ...more,
      }
    })
    if (apart || n === 1) {
      vertices.push(...singles)
      return singles.map((v) => v.id)
    }
    vertices.push({
      ...singles[0], tuple: name, end_ns: singles.at(-1).end_ns, delay_ns: totalMs * MS, self_ns: totalMs * MS, count: n, members: singles.map((v) => v.id), intervals_ns: undefined, self_intervals_ns: undefined,
      trace_ids: [...new Set(singles.map((v) => v.trace_ids[0]))], span_ids: [...new Set(singles.map((v) => v.span_ids[0]))],
    })
    return [singles[0].id]
  }
  const begin = add(root, 'INS', 'in', 'frontend', 'POST /checkout', 0, 0, 0, 0)
  const first = add(root, 'DRV', 0, 'frontend', 'POST /checkout', 100, 100, 0, 100)
  const disc = add(rules, 'DRV', 0, 'compute', 'discount rules', 700, 100, 600, 700)
  const send = add(call, 'SND', 'send', 'compute', '+GET storage/items', 700, 0, 700, 700)
  const rewrites = off('rewrite segment', 'storage', 'maintenance', others, 9000, 700, expired ? { expired: true } : {})
  const reads = off('GET /items', 'storage', 'frontend', 7, 2000, 9700)
  const sum = off('sum', 'compute', 'reports', 1, 500, 100)
  const scan = add(items, 'DRV', 0, 'storage', 'GET /items', 12085, 385, 11700, 12085)
  const sent = add(items, 'SND', 'answer', 'storage', '+GET storage/items reply', 12085, 0, 12085, 12085)
  const reply = add(call, 'RCV', 'reply', 'compute', '+GET storage/items reply', 12086, 1, 12086, 12086)
  const pricing = add(price, 'DRV', 1, 'compute', 'GET /price', 12386, 300, 12086, 12386)
  const answer = add(span('GET compute/price'), 'RCV', 'reply', 'frontend', '+GET compute/price reply', 12388, 2, 12388, 12388)
  const end = add(root, 'DRV', 1, 'frontend', 'POST /checkout', 12400, 12, 12388, 12400)
  edge(begin, first, 'causal', 0)
  edge(first, disc, 'causal', 100)
  edge(disc, send, 'causal', 700)
  edge(send, scan, 'causal', 700)
  edge(scan, sent, 'causal', 12085)
  edge(sent, reply, 'causal', 12085)
  edge(reply, pricing, 'causal', 12086)
  edge(pricing, answer, 'causal', 12386)
  edge(answer, end, 'causal', 12388)
  edge(first, end, 'causal', 0)
  for (const id of rewrites) edge(id, scan, 'sequencing', 9000 / rewrites.length)
  for (const id of reads) edge(id, scan, 'sequencing', 2000 / reads.length)
  for (const id of sum) edge(id, disc, 'sequencing', 500)
  vertices.sort((a, b) => (a.start_ns < b.start_ns ? -1 : a.start_ns > b.start_ns ? 1 : 0))
  if (baseline) for (const v of vertices) v.baseline_ns = v.functional ? Math.round(Number(v.delay_ns) / 60) : 0
  return {
    sentence: `9.00 s of 12.4 s: waited on storage behind ${others} requests from maintenance (rewrite segment)`,
    delay_ns: 12_400 * MS, from: first, root: end, vertices, edges,
    ...(whatIf.length ? { what_if: { matched: others, delay_ns: 7_900 * MS } } : {}),
    ...(baseline ? { baseline: { requests: 200, median_ns: 205 * MS } } : {}),
    assumed: {
      arrivals: { recorded: 61, least_one_way: 3, span_start: 0 },
      resources: [{ resource: 'workers of storage/storage-0', servers: 1, servers_by: 'waits', kind: 'synchronous', kind_by: 'threads' }],
      spans_moved: 0, causes_dropped: 0, holds_dropped: 0,
    },
    loaded: { traces: 61, spans: 480, queries: 4, left_out_traces: 0, stretches_cut: 0, waits_ignored: 0 },
  }
}

export function explainRoute(store, path, params) {
  const id = /^\/api\/v1\/explain\/([0-9a-f]{32})$/.exec(path)?.[1]
  const service = params.get('service')
  const of = id ? store.traces.get(id) : [...store.traces.values()].find((spans) => spans.some((s) => s.service === service && s.name === params.get('operation')))
  if (!of) return null
  const otherTraces = [...store.traces.values()].filter((spans) => spans[0].service === 'maintenance')
  return explainMock(of, { otherTraces, apart: params.get('no_aggregate') === 'true', baseline: params.get('baseline') === 'true', whatIf: params.getAll('what_if') })
}
