// Serves ui/dist with the server's CSP and answers the API from generated spans. The views are tested against the
// real binary; this stands in where a state must be forced (failing, slow, empty, skewed clocks) or where no
// binary is built. `node mock_server.mjs [PORT]` runs it by itself for work on the UI.
import { createServer } from 'node:http'
import { readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { explainRoute } from './mock_explain.mjs'
import { broken, checkout, hour, huge, random } from './scenario.mjs'

const DIST = fileURLToPath(new URL('../../ui/dist/', import.meta.url))
export const CSP = "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'"
const TYPES = { '.html': 'text/html; charset=utf-8', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml' }

// JSON with 64-bit integers: BigInts print as plain numbers.
export const json = (value) => JSON.stringify(value, (_, v) => (typeof v === 'bigint' ? `\u0001${v}` : v)).replace(/"\\u0001(-?\d+)"/g, '$1')
const max = (a, b) => (a > b ? a : b)

export class MockStore {
  constructor() {
    this.traces = new Map()
  }

  add(spans) {
    for (const s of spans) {
      if (!this.traces.has(s.traceId)) this.traces.set(s.traceId, [])
      this.traces.get(s.traceId).push(s)
    }
  }

  summary(id) {
    const spans = this.traces.get(id)
    const ids = new Set(spans.map((s) => s.spanId))
    const root = spans.find((s) => !ids.has(s.parentId)) ?? spans[0]
    const start = spans.reduce((m, s) => (s.startNs < m ? s.startNs : m), spans[0].startNs)
    const end = spans.reduce((m, s) => max(m, s.endNs), 0n)
    return {
      trace_id: id, service: root.service, name: root.name, start_ns: start, duration_ns: end - start, spans: spans.length,
      errors: spans.filter((s) => s.status === 'error').length, complete: root.parentId === '' && spans.every((s) => s.endNs > 0n),
    }
  }

  search(q) {
    const since = { '15m': 900, '1h': 3600, '6h': 21600, '24h': 86400, '7d': 604800 }[q.get('since')]
    const now = BigInt(Date.now()) * 1_000_000n
    let all = [...this.traces.keys()].map((id) => this.summary(id))
    if (since) all = all.filter((t) => t.start_ns >= now - BigInt(since) * 1_000_000_000n)
    if (q.get('service')) all = all.filter((t) => this.traces.get(t.trace_id).some((s) => s.service === q.get('service')))
    if (q.get('status') === 'error') all = all.filter((t) => t.errors > 0)
    for (const attr of q.getAll('attr')) {
      const [key, wanted] = attr.split(/=(.*)/)
      all = all.filter((t) => this.traces.get(t.trace_id).some((s) => String(s.attributes[key]) === wanted))
    }
    all.sort((a, b) => (a.start_ns < b.start_ns ? 1 : -1))
    const from = Number(q.get('cursor') ?? 0)
    const to = from + Number(q.get('limit') ?? 20)
    return { traces: all.slice(from, to), next: to < all.length ? String(to) : null }
  }

  // Depth-first columns. `skewNs` moves the raw clock of storage hosts, as if they ran ahead.
  waterfall(id, skewNs = 0) {
    const spans = this.traces.get(id).map((s) => ({ ...s, endNs: s.endNs || s.startNs + 40_000_000n }))
    const start = spans.reduce((m, s) => (s.startNs < m ? s.startNs : m), spans[0].startNs)
    const repairs = {}
    const missing = []
    const ids = new Set(spans.map((s) => s.spanId))
    for (const parent of new Set(spans.map((s) => s.parentId))) {
      if (parent === '' || ids.has(parent)) continue
      const kids = spans.filter((s) => s.parentId === parent)
      spans.push({
        ...kids[0], spanId: parent, parentId: '', service: 'unknown', name: 'missing', events: [], links: [], attributes: {}, standIn: true,
        startNs: kids.reduce((m, s) => (s.startNs < m ? s.startNs : m), kids[0].startNs), endNs: kids.reduce((m, s) => max(m, s.endNs), 0n),
      })
      repairs.missing_parent = (repairs.missing_parent ?? 0) + 1
      repairs.missing_end = (repairs.missing_end ?? 0) + 1
      missing.push({ what: 'parent', span_id: parent, may_still_come: true })
    }
    const children = new Map()
    for (const s of spans) {
      const key = s.parentId
      if (!children.has(key)) children.set(key, [])
      children.get(key).push(s)
    }
    for (const list of children.values()) list.sort((a, b) => (a.startNs < b.startNs ? -1 : 1))
    const strings = []
    const stringOf = new Map()
    const str = (text) => {
      if (!stringOf.has(text)) stringOf.set(text, strings.push(text) - 1)
      return stringOf.get(text)
    }
    const b = { span_id: [], parent: [], service: [], name: [], kind: [], status: [], start: [], duration: [], raw_start: [], raw_duration: [], flags: [], own: [] }
    const points = { block: [], time: [], name: [] }
    const edges = { from_block: [], from: [], to_block: [], to: [], type: [], blocking: [] }
    const visit = (s, parent) => {
      const i = b.span_id.length
      const asynchronous = s.kind === 'consumer'
      const rel = Number(s.startNs - start)
      const length = Number(s.endNs - s.startNs)
      b.span_id.push(s.spanId); b.parent.push(parent); b.service.push(str(s.service)); b.name.push(str(s.name)); b.kind.push(str(s.kind))
      b.status.push(s.status === 'error' ? 2 : 0); b.start.push(rel); b.duration.push(length)
      b.raw_start.push(rel + (s.service === 'storage' ? skewNs : 0)); b.raw_duration.push(length)
      b.flags.push((s.standIn ? 2 : 0) | (asynchronous ? 4 : 0)); b.own.push(length)
      for (const e of s.events) { points.block.push(i); points.time.push(Number(e.timeNs - start)); points.name.push(str(e.name)) }
      if (asynchronous && parent >= 0) {
        edges.from_block.push(parent); edges.from.push(b.start[parent]); edges.to_block.push(i); edges.to.push(rel); edges.type.push(str('one_way')); edges.blocking.push(0)
      }
      let at = rel
      let covered = 0
      for (const c of children.get(s.spanId) ?? []) {
        if (c.kind !== 'consumer') {
          const from = Math.max(at, Number(c.startNs - start))
          const to = Math.min(rel + length, Number(c.endNs - start))
          if (to > from) { covered += to - from; at = to }
        }
        visit(c, i)
      }
      b.own[i] = length - covered
    }
    for (const s of children.get('') ?? []) visit(s, -1)
    const largest = b.own.reduce((m, v, i) => (v > b.own[m] ? i : m), 0)
    b.flags[largest] |= 8
    const end = spans.reduce((m, s) => max(m, s.endNs), 0n)
    return {
      trace_id: id, start_ns: start, end_ns: end, complete: missing.length === 0, clock: 'aligned', clock_error_ns: skewNs ? 180_000 : 0, main_root: b.span_id[0], strings,
      blocks: b, points, edges, repairs, missing, violations: [],
      clocks: skewNs ? [{ host: 'storage-1', from_ns: start, offset_ns: -skewNs, error_ns: 180_000 }] : [],
    }
  }

  // The walk back in time without edges and windows: enough for states that are forced on the mock.
  criticalPath(id) {
    const w = this.waterfall(id)
    const { start, duration, parent } = w.blocks
    const segments = []
    const visit = (i, lo, hi) => {
      let t = hi
      for (;;) {
        let last = -1
        for (let c = i + 1; c < parent.length; c++) {
          if (parent[c] !== i || (w.blocks.flags[c] & 4) !== 0) continue
          const end = start[c] + duration[c]
          if (duration[c] > 0 && start[c] >= lo && start[c] < t && end <= t && (last < 0 || end > start[last] + duration[last])) last = c
        }
        const from = last < 0 ? lo : start[last] + duration[last]
        if (t > from) segments.push([i, from, t])
        if (last < 0) return
        visit(last, start[last], start[last] + duration[last])
        t = start[last]
      }
    }
    visit(0, start[0], start[0] + duration[0])
    const at = (time) => w.start_ns + BigInt(time)
    return {
      trace_id: id, root_span_id: w.main_root, other_roots: [], start_ns: at(start[0]), end_ns: at(start[0] + duration[0]), clock: 'aligned', clock_error_ns: 0, complete: true,
      segments: segments.reverse().map(([i, from, to]) => ({ span_id: w.blocks.span_id[i], service: w.strings[w.blocks.service[i]], name: w.strings[w.blocks.name[i]], category: 'self', start_ns: at(from), end_ns: at(to) })),
    }
  }

  criticalPaths(q) {
    const components = new Map()
    const requests = this.search(q).traces
    let whole = 0
    for (const { trace_id: id } of requests) {
      for (const s of this.criticalPath(id).segments) {
        const key = `${s.service} ${s.name}`
        const c = components.get(key) ?? { service: s.service, name: s.name, category: s.category, traces: 1, total_ns: 0, share: 0, p50_ns: 0, p95_ns: 0, max_ns: 0, max_trace_id: id }
        c.total_ns += Number(s.end_ns - s.start_ns)
        whole += Number(s.end_ns - s.start_ns)
        components.set(key, c)
      }
    }
    for (const c of components.values()) c.share = c.total_ns / whole
    return { traces: requests.length, duration_ns: whole, skipped: 0, components: [...components.values()].sort((a, b) => b.total_ns - a.total_ns), requests: [], next: null }
  }

  span(id, spanId) {
    const s = this.traces.get(id).find((x) => x.spanId === spanId)
    const blocks = s ? [{
      span_id: s.spanId, parent_id: s.parentId || null, unit: 'u', service: s.service, name: s.name, kind: s.kind, status: s.status, status_message: s.statusMessage ?? '',
      start_ns: s.startNs, end_ns: s.endNs, raw_start_ns: s.startNs, raw_end_ns: s.endNs, reference: 'child_of', flags: 1, tracestate: '', source: 'recorded', probability: 1,
      received_ns: s.endNs + 12_345_678n, scope: { name: 'shop', version: '1.2.0', attributes: {} }, attributes: s.attributes,
      links: s.links.map((l) => ({ trace_id: l.traceId, span_id: l.spanId, attributes: {} })),
    }] : []
    return {
      trace_id: id, start_ns: this.summary(id).start_ns, complete: true, units: [{ id: 'u', name: s?.service, service: s?.service, process: 0, thread: '12', host: s?.host }], blocks,
      points: (s?.events ?? []).map((e, i) => ({ id: `p${i}`, span_id: spanId, type: 'event', name: e.name, time_ns: e.timeNs, raw_time_ns: e.timeNs, attributes: e.attributes })),
      edges: [], repairs: [], missing: [], processes: [{ service: s?.service, host: s?.host, attributes: { 'service.instance.id': `${s?.service}-0` } }],
    }
  }
}

// `behave(path)` may return { until, delayMs, status, body } to force a state; it answers when the promise `until` is
// kept, so that a test decides how long something loads.
export async function startMock({ store = new MockStore(), behave = () => null, skewNs = 0, port = 0 } = {}) {
  const server = createServer(async (request, response) => {
    const url = new URL(request.url, 'http://mock')
    response.setHeader('content-security-policy', CSP)
    const forced = url.pathname.startsWith('/api/') ? behave(url.pathname, url) : null
    if (forced?.until) await forced.until
    if (forced?.delayMs) await new Promise((r) => setTimeout(r, forced.delayMs))
    const send = (status, body) => {
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(typeof body === 'string' ? body : json(body))
    }
    if (forced?.status) return send(forced.status, forced.body)
    const notFound = (what) => send(404, { error: { code: 'not_found', message: `There is no ${what}.`, hint: 'It may have been removed by retention; search finds what is kept.' } })
    const path = url.pathname
    const trace = /^\/api\/v1\/trace\/([0-9a-f]{32})$/.exec(path)
    if (trace) {
      if (!store.traces.has(trace[1])) return notFound(`trace ${trace[1]}`)
      if (url.searchParams.get('span')) return send(200, store.span(trace[1], url.searchParams.get('span')))
      return send(200, store.waterfall(trace[1], skewNs))
    }
    const critical = /^\/api\/v1\/critical-path\/([0-9a-f]{32})$/.exec(path)
    if (critical) return store.traces.has(critical[1]) ? send(200, store.criticalPath(critical[1])) : notFound(`trace ${critical[1]}`)
    if (path === '/api/v1/critical-path') return send(200, store.criticalPaths(url.searchParams))
    if (path.startsWith('/api/v1/explain')) {
      const answer = explainRoute(store, path, url.searchParams)
      return answer ? send(200, answer) : notFound(path.split('/')[4] ? `trace ${path.split('/')[4]}` : 'request of this operation')
    }
    const spans = [...store.traces.values()].flat()
    const distinct = (list) => [...new Set(list)].sort()
    const prefix = url.searchParams.get('prefix') ?? ''
    if (path === '/api/v1/traces') return send(200, store.search(url.searchParams))
    if (path === '/api/v1/services') return send(200, { services: distinct(spans.map((s) => s.service)) })
    if (path === '/api/v1/operations') {
      const of = spans.filter((s) => !url.searchParams.get('service') || s.service === url.searchParams.get('service'))
      return send(200, { operations: distinct(of.map((s) => s.name)).map((name) => ({ name, kind: 'internal' })) })
    }
    if (path === '/api/v1/attributes') return send(200, { keys: distinct(spans.flatMap((s) => Object.keys(s.attributes))).filter((k) => k.startsWith(prefix)) })
    const values = /^\/api\/v1\/attributes\/(.+)$/.exec(path)
    if (values) return send(200, { values: distinct(spans.flatMap((s) => (decodeURIComponent(values[1]) in s.attributes ? [String(s.attributes[decodeURIComponent(values[1])])] : []))).filter((v) => v.startsWith(prefix)).slice(0, 50) })
    if (path === '/api/v1/status') {
      return send(200, {
        version: '0.1.0', uptime_ns: BigInt(Math.round(process.uptime() * 1e9)) + 7_200_000_000_000n,
        store: { spans: spans.length, events: spans.length, traces: store.traces.size, disk_bytes: 43 * spans.length, pending_rows: 0, messages: 0, attachments: 0, oldest_ns: spans[0]?.startNs ?? null, newest_ns: spans.at(-1)?.startNs ?? null, path: 'store' },
        counters: { 'otlp.spans_received': spans.length, 'otlp.spans_rejected': 3, 'repair.missing_parent': 2, 'repair.missing_end': 1, 'http.requests': 120 },
        listeners: [{ name: 'http', address: '127.0.0.1:8642' }, { name: 'otlp_http', address: '127.0.0.1:4318' }, { name: 'otlp_grpc', address: '127.0.0.1:4317' }],
        retention: { max_age_ns: 604_800_000_000_000n, max_bytes: 0 },
      })
    }
    if (path === '/api/v1/property-groups') return send(200, { groups: [], revision: '' })
    if (path === '/api/v1/import') {
      let size = 0
      for await (const chunk of request) size += chunk.length
      return size < 20
        ? send(400, { error: { code: 'bad_input', message: `${url.searchParams.get('name')} is in no format we know.`, hint: 'OTLP JSON or protobuf, Zipkin v2, Jaeger and HTrace JSON are read.' } })
        : send(200, { files: 1, traces: 1, spans: 12, duplicates: 0, rejected: 0, repairs: {}, trace_ids: [[...store.traces.keys()][0]] })
    }
    if (path.startsWith('/api/')) return notFound(`route ${path}`)
    const file = extname(path) ? path : '/index.html'
    try {
      response.setHeader('content-type', TYPES[extname(file)] ?? 'application/octet-stream')
      response.end(await readFile(join(DIST, file)))
    } catch {
      response.statusCode = 404
      response.end()
    }
  })
  await new Promise((resolve) => server.listen(port, '127.0.0.1', resolve))
  return { url: `http://127.0.0.1:${server.address().port}`, store, close: () => new Promise((r) => { server.closeAllConnections(); server.close(r) }) }
}

export function shopStore() {
  const store = new MockStore()
  const now = BigInt(Date.now()) * 1_000_000n
  for (const spans of hour(7, now)) store.add(spans)
  return store
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const store = shopStore()
  const now = BigInt(Date.now()) * 1_000_000n
  const rnd = random(1)
  store.add(checkout(rnd, now - 60_000_000_000n, { slow: true, failing: true, traceId: 'c'.repeat(32) }))
  store.add(broken(rnd, now - 50_000_000_000n, 'b'.repeat(32)))
  store.add(huge(rnd, now - 120_000_000_000n, 100_000, 'a'.repeat(32)))
  const { url } = await startMock({ store, skewNs: 6_000_000, port: Number(process.argv[2] ?? 8643) })
  console.log(url)
}
