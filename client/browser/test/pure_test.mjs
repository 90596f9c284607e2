// The parts of the browser client that need no page: headers, times, lines, kinds of resources, traces and losses.
// parallel: yes
import test from 'node:test'
import assert from 'node:assert/strict'
import { load } from './load.mjs'

const links = []
globalThis.document = { baseURI: 'https://shop.example/cart/', querySelectorAll: () => links }
globalThis.location = { origin: 'https://shop.example' }
const c = await load('clock.ts', 'event.ts', 'losses.ts', 'guard.ts', 'resource_kind.ts', 'resource_load.ts', 'trace.ts', 'trace_context.ts')

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN = '00f067aa0ba902b7'

test('traceparent and traceresponse: read as W3C says', () => {
  assert.deepEqual(c.parseContext(`00-${TRACE}-${SPAN}-01`), { traceId: TRACE, spanId: SPAN, sampled: true })
  assert.equal(c.parseContext(`00-${TRACE}-${SPAN}-00`).sampled, false)
  assert.equal(c.parseContext(` 00-${TRACE}-${SPAN}-03 `).sampled, true, 'other flags beside it')
  assert.equal(c.parseContext(`00-${TRACE}-${SPAN}-02`).sampled, false, 'another flag alone')
  assert.equal(c.parseContext(`01-${TRACE}-${SPAN}-01-more`).sampled, true, 'a later version may carry more')
  for (const bad of [
    null, undefined, '', 'x', `00-${TRACE}-${SPAN}`, `00-${TRACE}-${SPAN}-01-more`, `00-${TRACE}-${SPAN}-011`, `ff-${TRACE}-${SPAN}-01`,
    `00-${'0'.repeat(32)}-${SPAN}-01`, `00-${TRACE}-${'0'.repeat(16)}-01`, `00-${TRACE.toUpperCase()}-${SPAN}-01`, `00-${TRACE}-${SPAN}-0g`,
  ]) assert.equal(c.parseContext(bad), undefined, String(bad))
})

test('what is written is what is read', () => {
  for (const sampled of [true, false]) {
    const [traceId, spanId] = [c.newTraceId(), c.newId()]
    assert.deepEqual(c.parseContext(c.formatContext(traceId, spanId, sampled)), { traceId, spanId, sampled })
  }
  assert.equal(new Set(Array.from({ length: 1000 }, c.newId)).size, 1000)
})

test('Server-Timing: the first valid context counts', () => {
  const entry = (...serverTiming) => ({ serverTiming })
  assert.equal(c.contextOfTiming({}), undefined)
  assert.equal(c.contextOfTiming(entry({ name: 'db', description: `00-${TRACE}-${SPAN}-01` })), undefined)
  assert.equal(c.contextOfTiming(entry({ name: 'traceparent', description: 'rubbish' }, { name: 'traceresponse', description: `00-${TRACE}-${SPAN}-00` })).traceId, TRACE)
})

test('times keep every nanosecond', () => {
  assert.equal(c.toUnix(1_763_217_000_123_456_000n, 1), '1763217000123456001')
  assert.equal(c.toUnix(1_763_217_000_123_456_000n, c.fromMs(1234.567891)), '1763217001358023891')
  const times = Array.from({ length: 1000 }, c.now)
  assert.ok(times.every((t, i) => Number.isSafeInteger(t) && (i === 0 || t > times[i - 1])), 'times taken here never repeat')
  assert.ok(Math.abs(Number(c.originNow() / 1_000_000n) + performance.now() - Date.now()) < 1100)
})

test('a trace that starts after the clock was set, or the machine slept, is on the wall clock', (t) => {
  const real = Date.now
  t.after(() => (Date.now = real))
  Date.now = () => real() + 3_600_000
  assert.ok(Math.abs(Number(c.originNow() / 1_000_000n) + performance.now() - Date.now()) < 1100)
})

test('a line is one event of the contract', () => {
  const event = { type: 'point', id1: 'ab', id2: 'cd', at: 5, facts: { name: 'a"b\n', piece: 'Feed', 'bytes:B': 0, none: undefined, empty: '', no: false, yes: true, long: 'x'.repeat(1000) } }
  const line = c.toLine(TRACE, 1_763_217_000_000_000_000n, event)
  assert.equal(line.indexOf('\n'), line.length - 1)
  assert.match(line, /"time_ns":1763217000000000005,/)
  assert.deepEqual(JSON.parse(line).annotations, { 'label:name': 'a"b\n', 'label:piece': 'Feed', 'counter:bytes:B': '0', 'label:yes': 'true', 'label:long': 'x'.repeat(256) })
  assert.equal(c.toLine(TRACE, 0n, { type: 'unit_end', id1: 'ab', at: 7 }), `{"trace_id":"${TRACE}","type":"unit_end","id1":"ab","time_ns":7}\n`)
})

test('kinds of resources', () => {
  links.push({ href: 'https://cdn.example/theme', rel: 'stylesheet', as: '' }, { href: 'https://cdn.example/pre', rel: 'preload', as: 'script' })
  for (const [url, initiator, kind] of [
    ['https://a/x.css?v=1', 'link', 'css'], ['https://a/x.CSS#y', 'other', 'css'], ['https://cdn.example/theme', 'link', 'css'], ['https://cdn.example/pre', 'link', 'js'],
    ['https://cdn.example/unknown', 'link', 'other'], ['https://a/app', 'script', 'js'], ['https://a/m.mjs', 'link', 'js'], ['https://a/i', 'img', 'img'], ['https://a/i.webp', 'css', 'img'],
    ['https://a/f.woff2', 'css', 'font'], ['https://a/bg', 'css', 'img'], ['https://a/api.css', 'fetch', 'fetch'], ['https://a/api', 'xmlhttprequest', 'fetch'],
    ['https://a/v', 'video', 'media'], ['https://a/f', 'iframe', 'document'], ['https://a/b', 'beacon', 'beacon'], ['https://a/z', 'other', 'other'],
  ]) assert.equal(c.resourceKind(url, initiator), kind, `${initiator} ${url}`)
})

test('URLs are shown without query, fragment, and the own origin', () => {
  assert.equal(c.shownUrl('https://shop.example/a/b?token=1#x'), '/a/b')
  assert.equal(c.shownUrl('../api?user=me'), '/api')
  assert.equal(c.shownUrl('https://cdn.example/x.js?k'), 'https://cdn.example/x.js')
  assert.equal(c.shownUrl('http://[broken'), '')
})

const written = []
const newTrace = (maxEvents = 100) => {
  written.length = 0
  c.resetLosses()
  return new c.Trace({ service: 's', host: 'h', maxEvents, write: (line) => written.push({ ...JSON.parse(line), time_ns: BigInt(/"time_ns":(\d+)/.exec(line)[1]) }) }, 'code', 0, 'work')
}
const types = () => written.map((e) => e.type).join(' ')

test('before the decision nothing is written; after a yes everything, in order', () => {
  const trace = newTrace()
  trace.point('early', 5)
  assert.equal(types(), '')
  trace.id = TRACE // a navigation takes its server's id
  trace.decide(true)
  trace.decide(false) // the first decision holds
  assert.equal(types(), 'unit_begin trace_start block_begin point')
  trace.point('late', 9)
  trace.end()
  assert.equal(types(), 'unit_begin trace_start block_begin point point block_end unit_end')
  assert.ok(written.every((e) => e.trace_id === TRACE))
  assert.equal(written.at(-1).time_ns - written[0].time_ns, 9n, 'it ends where its last event was')
  assert.deepEqual(c.losses(), {})
})

test('after a no nothing is written or kept, and what was kept is counted', () => {
  const trace = newTrace()
  trace.point('early', 5)
  trace.decide(false)
  trace.point('late', 9)
  assert.equal(trace.begin('code'), undefined)
  trace.end()
  assert.equal(types(), '')
  assert.deepEqual(c.losses(), { unsampled: 4 })
})

test('without any decision what was kept is dropped at the end, and counted', () => {
  const trace = newTrace()
  trace.end()
  trace.decide(true) // too late
  assert.equal(types(), '')
  assert.deepEqual(c.losses(), { undecided: 5 })
})

test('a full trace still ends what it began, and reports its losses once', () => {
  const trace = newTrace(6)
  trace.decide(true)
  const finish = trace.begin('outer')
  for (let i = 0; i < 10; i++) trace.point(`p${i}`, i)
  assert.equal(trace.begin('refused'), undefined)
  finish()
  trace.end()
  assert.equal(types(), 'unit_begin trace_start block_begin block_begin point point block_end block_end unit_end')
  assert.deepEqual(written.at(-1).annotations, { 'counter:lost_trace_full': '9' })
  assert.deepEqual(c.newLosses(), {})
})

test('blocks still open at the end are ended, innermost first', () => {
  const trace = newTrace()
  trace.decide(true)
  const finish = trace.begin('outer')
  trace.begin('inner')
  trace.end()
  finish() // after the end: nothing more
  const ids = (type) => written.filter((e) => e.type === type).map((e) => e.id1)
  assert.deepEqual(ids('block_end'), ids('block_begin').reverse())
})

test('errors do not reach the page', () => {
  c.resetLosses()
  c.guard(() => {
    throw new Error('ours')
  })()
  assert.deepEqual(c.losses(), { internal_error: 1 })
})
