// Seeded spans of a small shop, as plain objects; otlp() writes them as the OTLP/JSON a real exporter would send.
// Both the real server and the mock are fed from here, so every view is tested with the same traces.

export function random(seed) {
  let s = seed >>> 0
  return () => {
    s = (s + 0x6d2b79f5) >>> 0
    let t = s
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}

const hex = (rnd, digits) => Array.from({ length: digits }, () => Math.floor(rnd() * 16).toString(16)).join('').replace(/^0/, '1')
const MS = 1_000_000

class TraceMaker {
  constructor(rnd, startNs, traceId) {
    this.rnd = rnd
    this.start = startNs
    this.traceId = traceId ?? hex(rnd, 32)
    this.spans = []
  }

  // Times, those of events too, are ns relative to the trace's start.
  add(parent, service, name, kind, from, length, more = {}) {
    const span = {
      traceId: this.traceId,
      spanId: hex(this.rnd, 16),
      parentId: parent?.spanId ?? '',
      service,
      host: `${service}-1`,
      name,
      kind,
      startNs: this.start + BigInt(Math.round(from)),
      endNs: this.start + BigInt(Math.round(from + length)),
      status: 'unset',
      attributes: {},
      events: [],
      links: [],
      ...more,
    }
    span.events = span.events.map((e) => ({ ...e, timeNs: this.start + BigInt(Math.round(e.at)) }))
    this.spans.push(span)
    return span
  }
}

// One checkout: frontend → compute → storage, a queue to the worker; slow when storage waits for maintenance.
export function checkout(rnd, startNs, { slow = false, failing = false, traceId } = {}) {
  const t = new TraceMaker(rnd, startNs, traceId)
  const scan = (slow ? 900 + rnd() * 400 : 6 + rnd() * 30) * MS
  const total = scan + (22 + rnd() * 10) * MS
  const user = String(1 + Math.floor(rnd() * 500))
  const root = t.add(null, 'frontend', 'POST /checkout', 'server', 0, total, {
    status: failing ? 'error' : 'unset',
    statusMessage: failing ? 'payment declined by upstream' : '',
    attributes: { 'http.request.method': 'POST', 'url.path': '/checkout', 'user.id': user, 'http.response.status_code': failing ? 502 : 200, 'session.id': 9007199254740993n, 'cache.hit': false, 'sample.ratio': 0.25 },
    events: [{ name: 'cart validated', at: 2 * MS, attributes: { items: 3 } }],
  })
  t.add(root, 'frontend', 'render cart', 'internal', 0.4 * MS, 3 * MS)
  const call = t.add(root, 'frontend', 'GET compute/price', 'client', 4 * MS, total - 9 * MS)
  const price = t.add(call, 'compute', 'GET /price', 'server', 5 * MS, total - 11 * MS, { attributes: { 'thread.id': 12 } })
  t.add(price, 'compute', 'discount rules', 'internal', 6 * MS, 5 * MS)
  const read = t.add(price, 'compute', 'GET storage/items', 'client', 12 * MS, scan + 3 * MS)
  const items = t.add(read, 'storage', 'GET /items', 'server', 13 * MS, scan + 1 * MS)
  t.add(items, 'storage', 'lock wait', 'internal', 13.2 * MS, slow ? scan * 0.3 : 0.4 * MS)
  t.add(items, 'storage', 'scan', 'internal', 13.4 * MS + (slow ? scan * 0.3 : 0.4 * MS), scan * (slow ? 0.65 : 0.9), {
    attributes: { 'db.rows': 1200, 'db.statement': 'SELECT * FROM items WHERE cart = ?' },
    events: [{ name: 'page fault', at: 14 * MS + scan * 0.5, attributes: {} }, { name: 'page fault', at: 14.01 * MS + scan * 0.5, attributes: {} }],
  })
  if (failing) t.add(price, 'compute', 'charge card', 'client', total - 9 * MS, 2 * MS, { status: 'error', statusMessage: 'HTTP 502 from the bank' })
  const publish = t.add(root, 'frontend', 'orders publish', 'producer', total - 4.5 * MS, 1 * MS)
  t.add(publish, 'worker', 'orders process', 'consumer', total + 3 * MS, 9 * MS, { host: 'worker-1' })
  return t.spans
}

export function browse(rnd, startNs) {
  const t = new TraceMaker(rnd, startNs)
  const length = (3 + rnd() ** 3 * 60) * MS
  const root = t.add(null, 'frontend', 'GET /catalog', 'server', 0, length, { attributes: { 'user.id': String(1 + Math.floor(rnd() * 500)) } })
  const call = t.add(root, 'frontend', 'GET storage/items', 'client', 0.5 * MS, length * 0.8)
  t.add(call, 'storage', 'GET /items', 'server', 0.8 * MS, length * 0.8 - 0.5 * MS)
  return t.spans
}

export function compaction(rnd, startNs) {
  const t = new TraceMaker(rnd, startNs)
  const length = (80 + rnd() * 300) * MS
  const root = t.add(null, 'maintenance', 'compact', 'internal', 0, length)
  for (let i = 0; i < 6; i++) t.add(root, 'storage', 'rewrite segment', 'server', (i * length) / 6, length / 6.5)
  return t.spans
}

// A span whose parent never arrives, and one without an end.
export function broken(rnd, startNs, traceId) {
  const t = new TraceMaker(rnd, startNs, traceId)
  const missing = { spanId: 'feedfacefeedface' }
  const a = t.add(missing, 'compute', 'GET /price', 'server', 2 * MS, 30 * MS)
  t.add(a, 'storage', 'GET /items', 'internal', 5 * MS, 20 * MS)
  const open = t.add(missing, 'frontend', 'render', 'internal', 1 * MS, 40 * MS)
  open.endNs = 0n
  return t.spans
}

// `size` spans: a batch with many workers, each a chain of steps with short leaves.
export function huge(rnd, startNs, size, traceId) {
  const t = new TraceMaker(rnd, startNs, traceId)
  const total = 60_000 * MS
  const root = t.add(null, 'batch', 'nightly report', 'internal', 0, total)
  const workers = 40
  const services = ['batch', 'compute', 'storage', 'cache', 'index', 'queue']
  const perWorker = Math.floor((size - 1) / workers)
  for (let k = 0; k < workers && t.spans.length < size; k++) {
    const worker = t.add(root, 'compute', `partition ${k}`, 'internal', k * 40 * MS, total - 50 * k * MS)
    let parent = worker
    let at = k * 40 * MS + MS
    const step = (total - 100 * k * MS) / perWorker
    for (let i = 1; i < perWorker; i++) {
      if (i % 25 === 1) parent = t.add(worker, services[i % 6], `shard ${i % 500}`, 'internal', at, step * 24)
      else t.add(parent, services[(i * 7 + k) % 6], ['read block', 'decode', 'merge', 'write block', 'checksum'][i % 5], 'internal', at, step * (0.3 + 0.6 * rnd()), { status: i % 997 === 0 ? 'error' : 'unset' })
      at += step
    }
  }
  while (t.spans.length < size) t.add(root, 'batch', 'tail', 'internal', total - 2 * MS, MS)
  return t.spans
}

// The last hour of the shop, newest traces ending just before `nowNs`.
export function hour(seed, nowNs, traces = 240) {
  const rnd = random(seed)
  const out = []
  for (let i = 0; i < traces; i++) {
    const back = BigInt(Math.floor(rnd() * 3300e9)) + 20_000_000_000n
    const start = nowNs - back
    const trouble = back > 900_000_000_000n && back < 1_500_000_000_000n
    const kind = rnd()
    if (kind < 0.5) out.push(checkout(rnd, start, { slow: trouble && rnd() < 0.5, failing: rnd() < 0.05 }))
    else if (kind < 0.92) out.push(browse(rnd, start))
    else out.push(compaction(rnd, start))
  }
  return out
}

const KINDS = { internal: 1, server: 2, client: 3, producer: 4, consumer: 5 }
const value = (v) =>
  typeof v === 'bigint' ? { intValue: v.toString() }
  : typeof v === 'boolean' ? { boolValue: v }
  : typeof v === 'number' ? (Number.isInteger(v) ? { intValue: String(v) } : { doubleValue: v })
  : { stringValue: v }
const attributes = (object) => Object.entries(object).map(([key, v]) => ({ key, value: value(v) }))

export function otlp(spans) {
  const byProcess = new Map()
  for (const s of spans) {
    const key = `${s.service} ${s.host}`
    if (!byProcess.has(key)) byProcess.set(key, [])
    byProcess.get(key).push(s)
  }
  return {
    resourceSpans: [...byProcess.values()].map((list) => ({
      resource: { attributes: attributes({ 'service.name': list[0].service, 'host.name': list[0].host, 'service.instance.id': `${list[0].service}-0` }) },
      scopeSpans: [{
        scope: { name: 'shop', version: '1.2.0' },
        spans: list.map((s) => ({
          traceId: s.traceId,
          spanId: s.spanId,
          parentSpanId: s.parentId,
          name: s.name,
          kind: KINDS[s.kind],
          startTimeUnixNano: s.startNs.toString(),
          endTimeUnixNano: s.endNs.toString(),
          attributes: attributes(s.attributes),
          events: s.events.map((e) => ({ name: e.name, timeUnixNano: e.timeNs.toString(), attributes: attributes(e.attributes) })),
          links: s.links,
          status: s.status === 'error' ? { code: 2, message: s.statusMessage ?? '' } : {},
        })),
      }],
    })),
  }
}
