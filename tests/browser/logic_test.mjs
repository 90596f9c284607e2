// The UI's pure parts, without a browser: exact integers, the filter language, units, and the waterfall's ranges.
// parallel: yes
import { mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { explainMock } from './mock_explain.mjs'
import { json, MockStore } from './mock_server.mjs'
import { checkout, huge, random } from './scenario.mjs'

const ui = fileURLToPath(new URL('../../ui/', import.meta.url))
const { buildSync } = createRequire(`${ui}package.json`)('esbuild')
const folder = mkdtempSync(join(tmpdir(), 'wherefore-logic-'))
process.on('exit', () => rmSync(folder, { recursive: true }))
async function load(path) {
  const outfile = join(folder, path.replace(/\W/g, '_') + '.mjs')
  buildSync({ entryPoints: [`${ui}src/${path}`], bundle: true, outfile, format: 'esm', target: 'es2021' })
  return import(outfile)
}
const { parseExact, parseExactAround, ns, showExact, isLongInteger } = await load('api/exact_json.ts')
const { duration, parseDuration, exactInstant, bytes, grouped } = await load('parts/format.ts')
const { parseFilter, printFilter, filterFromParams, writeFilter } = await load('search/filter_language.ts')
const { decodeWaterfall, visibleRows, ownParts, findBlocks } = await load('trace/waterfall_model.ts')
const { registerServices, servicePlace, paletteSize } = await load('parts/colours.ts')
const { decodePath, firstSegmentAfter, parsePlace, pathParts, timeOnPath, whatIfProblem } = await load('trace/path_model.ts')
const { busyParts, groupRows } = await load('trace/unit_rows.ts')
const { boxAt, functionTotals, leftHeavy, samplesOf, sandwich, timeOrder } = await load('flame/flame_model.ts')
const { compareOperations } = await load('two_traces/operation_differences.ts')
const { ticks } = await load('trace/waterfall_painter.ts')
const { decodeExplanation, drawnPart, explainWhatIfProblem, unfold } = await load('explain/explain_model.ts')
const { layOutLayers } = await load('explain/layered_layout.ts')
const { bestSplit, binQuantile, clusters, compareNodes, decodePattern, pathText } = await load('patterns/patterns_model.ts')
const { commandFor, explainQuery } = await load('explain/explain_query.ts')
const { describeLosses, isLoss, isRefusal, isRepair } = await load('status/losses.ts')
const { rangePhrase } = await load('search/time_range.ts')

let failed = 0
function test(name, body) {
  try {
    body()
    console.log(`ok ${name}`)
  } catch (cause) {
    failed++
    console.log(`not ok ${name}\n    ${cause.message}`)
  }
}
const show = (v) => JSON.stringify(v, (_, x) => (typeof x === 'bigint' ? `${x}n` : x))
function equal(actual, expected, what = '') {
  if (show(actual) !== show(expected)) throw new Error(`${what} expected ${show(expected)}, got ${show(actual)}`)
}

const store = new MockStore()
store.add(huge(random(5), 1_794_741_617_123_456_789n, 3000, 'f'.repeat(32)))

test('integers beyond 2^53 are exact, wherever they stand', () => {
  const text = '{"start_ns":1794741617123456789,"list":[-9223372036854775808,1,9007199254740993],"small":1234567890}'
  const v = parseExact(text)
  equal(ns(v.start_ns), 1794741617123456789n)
  equal(v.list.map(ns), [-9223372036854775808n, 1n, 9007199254740993n])
  equal(v.small, 1234567890)
  equal(showExact(v), text)
})

test('digits inside strings, floats and exponents are left alone', () => {
  const tricky = { a: '1794741617123456789', b: ', 1794741617123456789, ', c: '":1794741617123456789', d: 'quote \\" : 1794741617123456789', e: '\\', f: 0.1234567890123456, g: 1.5e300, '1794741617123456789': true }
  equal(parseExact(JSON.stringify(tricky)), tricky)
  if (isLongInteger('1794741617123456789')) throw new Error('a plain string is taken for an integer')
})

test('scanning only around the columns gives the same', () => {
  const text = json(store.waterfall('f'.repeat(32), 5_000_000))
  equal(parseExactAround(text, 'strings', 'repairs'), parseExact(text))
  equal(ns(parseExactAround(text, 'strings', 'repairs').start_ns), 1_794_741_617_123_456_789n)
  equal(ns(parseExactAround('{"a":1794741617123456789}', 'strings', 'repairs').a), 1794741617123456789n)
  const named = '{"start_ns":1794741617123456789,"strings":["\\"repairs\\":1794741617123456789"],"repairs":{}}'
  equal(parseExactAround(named, 'strings', 'repairs'), parseExact(named))
})

test('random JSON passes through as JSON.parse gives it', () => {
  const rnd = random(42)
  const make = (depth) => {
    const kind = Math.floor(rnd() * (depth > 3 ? 4 : 6))
    if (kind === 0) return Math.floor(rnd() * 1e12) - 5e11
    if (kind === 1) return rnd() * 10 ** Math.floor(rnd() * 30 - 15)
    if (kind === 2) return Array.from({ length: rnd() * 12 }, () => '"\\ \n0123456789:,[]{}aé😀'[Math.floor(rnd() * 24)] ?? '').join('')
    if (kind === 3) return [true, false, null][Math.floor(rnd() * 3)]
    if (kind === 4) return Array.from({ length: rnd() * 5 }, () => make(depth + 1))
    return Object.fromEntries(Array.from({ length: rnd() * 5 }, (_, i) => [`k"${i}\\`, make(depth + 1)]))
  }
  for (let i = 0; i < 3000; i++) {
    const text = JSON.stringify(make(0))
    // An integer of 16 digits and more is the one thing that may differ.
    if (/(^|[[:,])-?\d{16,}($|[\],}])/.test(text.replace(/"(?:[^"\\]|\\.)*"/g, '""'))) continue
    equal(parseExact(text), JSON.parse(text), text)
  }
})

test('durations are written for readers', () => {
  const cases = { 0: '0', 1: '1 ns', 999: '999 ns', 1000: '1 µs', 310_000: '310 µs', 999_600: '1 ms', 1_240_000_000: '1.24 s', 12_340_000: '12.3 ms', 60_000_000_000: '1 min', 59_999_000_000: '1 min', 125_000_000_000: '2 min 5 s', 3_600_000_000_000: '1 h', 5_400_000_000_000: '1 h 30 min', 604_800_000_000_000: '7 d' }
  for (const [value, text] of Object.entries(cases)) equal(duration(Number(value)), text, value)
  equal(duration(-1500), '−1.5 µs')
  equal(bytes(4_370_000), '4.37 MB')
  equal(grouped(1794741617123456789n), '1,794,741,617,123,456,789')
})

test('durations of the command line are understood, others are not', () => {
  equal(['250ms', '1.5s', '90us', '90µs', '2h', '7d', '10ns', '3m'].map(parseDuration), [250e6, 1.5e9, 90e3, 90e3, 7200e9, 604800e9, 10, 180e9])
  equal(['soon', '5', 'ms', '-1s', '1 year'].map(parseDuration), [null, null, null, null, null])
})

test('instants keep all nine decimals, before 1970 too', () => {
  equal(exactInstant(1794741617123456789n), '2026-11-15T11:20:17.123456789Z')
  equal(exactInstant(-1n), '1969-12-31T23:59:59.999999999Z')
})

test('filters parse, print and survive the URL', () => {
  const text = 'service:frontend operation:"POST /checkout" status:error min:250ms max:2s user.id=42 note="a \\"b\\" c"'
  const parsed = parseFilter(text)
  equal(parsed.ok, true)
  equal(printFilter(parsed.filter), text)
  const params = new URLSearchParams()
  writeFilter(parsed.filter, params)
  equal(params.getAll('attr'), ['user.id=42', 'note=a "b" c'])
  equal(filterFromParams(new URLSearchParams(params.toString())), parsed.filter)
})

test('mistakes in a filter are named', () => {
  const reasons = { 'status:bad': 'status is error, ok or unset', 'min:soon': 'not a duration', 'service:': 'needs a value', frontend: 'try service:frontend', 'service:a service:b': 'given twice', 'min:2s max:1s': 'nothing can match', 'key=': 'needs a value' }
  for (const [text, reason] of Object.entries(reasons)) {
    const parsed = parseFilter(text)
    if (parsed.ok || !parsed.message.includes(reason)) throw new Error(`${text}: ${show(parsed)}`)
  }
  equal(parseFilter('ab'.repeat(16)).traceId, 'ab'.repeat(16))
})

test('services keep their place and share none while places last', () => {
  const names = Array.from({ length: paletteSize }, (_, i) => `service-${i}`)
  registerServices(names)
  equal(new Set(names.map(servicePlace)).size, paletteSize)
})

const w = decodeWaterfall(parseExact(json(store.waterfall('f'.repeat(32)))))

test('folding hides exactly a subtree; hidden blocks point at the row that hides them', () => {
  equal(visibleRows(w, new Set()).blocks.length, 3000)
  const rows = visibleRows(w, new Set([1]))
  equal(rows.blocks.length, 3000 - (w.subtreeEnd[1] - 2))
  for (let i = 1; i < w.subtreeEnd[1]; i++) equal(rows.rowOf[i], 1)
  equal(rows.blocks[2], w.subtreeEnd[1])
  equal(visibleRows(w, new Set([0])).blocks.length, 1)
})

test('own parts add up to the own time the server gives', () => {
  for (let i = 0; i < w.count; i++) {
    const parts = ownParts(w, i, 'aligned')
    let sum = 0
    for (let k = 0; k < parts.length; k += 2) sum += parts[k + 1] - parts[k]
    if (Math.abs(sum - w.own[i]) > 1) throw new Error(`block ${i}: parts ${sum}, own ${w.own[i]}`)
  }
})

test('finding matches names, services and ids', () => {
  const merges = w.spanId.filter((_, i) => w.strings[w.name[i]] === 'merge').length
  equal(findBlocks(w, 'MERGE').blocks.length, merges)
  equal([...findBlocks(w, w.spanId[77]).blocks], [77])
  equal(findBlocks(w, 'no such thing').blocks.length, 0)
})

test('ticks are round and inside the view', () => {
  for (const [from, to] of [[0, 1e9], [123, 456], [1e12, 1e12 + 7], [-50, 50]]) {
    const list = ticks(from, to, 800)
    if (list.length < 2 || list.some((t) => t < from || t > to)) throw new Error(`${from}–${to}: ${list}`)
  }
})

// Blocks 0 a (0–100), 1 b under a (10–60), 2 c under b (20–30), 3 d under a (60–90); units: a and d, b, c.
const small = decodeWaterfall({
  trace_id: 't', start_ns: '1700000000000000007', end_ns: '1700000000000000107', complete: true, clock: 'aligned', clock_error_ns: 0, main_root: 'a',
  strings: ['', 'web', 'db', 'A', 'B', 'C', 'D', 'Main', 'Worker', 'done'],
  blocks: {
    span_id: ['a', 'b', 'c', 'd'], parent: [-1, 0, 1, 0], service: [1, 2, 1, 1], name: [3, 4, 5, 6], kind: [0, 0, 0, 0], status: [0, 0, 0, 0],
    start: [0, 10, 20, 60], duration: [100, 50, 10, 30], raw_start: [0, 10, 20, 60], raw_duration: [100, 50, 10, 30], flags: [0, 0, 0, 0], own: [20, 40, 10, 30], unit: [0, 1, 2, 0],
  },
  units: { id: ['u0', 'u1', 'u2'], name: [7, 8, 7], service: [1, 2, 1], thread: [0, 0, 0], host: [0, 0, 0], samples: [0, 0, 0] },
  points: { block: [3, 0], time: [80, 5], name: [9, 9], marker: [9, 0] }, edges: { from_block: [], from: [], to_block: [], to: [], type: [], blocking: [] },
  repairs: {}, missing: [], violations: [], clocks: [],
})

test('units and markers are read; without them there are none', () => {
  equal(small.units.map((u) => u.name), ['Main', 'Worker', 'Main'])
  equal(small.markers, [{ label: 'done', time: 80, block: 3 }])
  equal([w.units.length, w.markers.length, w.unit[0]], [0, 0, -1])
})

test('rows by unit: types beside each other, blocks under parents of their own unit, folding', () => {
  const rows = groupRows(small, new Set(), 'unit', new Set())
  equal(rows.groups.map((g) => [g.key, [...g.members]]), [['u0', [0, 3]], ['u2', [2]], ['u1', [1]]])
  equal([...rows.blocks], [-1, 0, 3, -2, 2, -3, 1])
  equal([...rows.depth], [0, 1, 2, 0, 1, 0, 1])
  const folded = groupRows(small, new Set([0]), 'unit', new Set(['u2']))
  equal([...folded.blocks], [-1, 0, -2, -3, 1])
  equal([[...folded.hidden], folded.rowOf[3], folded.rowOf[2]], [[1, 0, 0, 0], 1, 2])
  equal(groupRows(small, new Set(), 'service', new Set()).groups.map((g) => g.key), ['web', 'db'])
  equal([...busyParts(small, Int32Array.of(1, 2, 3), 'aligned')], [10, 90])
})

const segment = (span_id, name, category, from, to, more = {}) => ({ span_id, service: 'web', name, category, start_ns: String(1700000000000000007n + BigInt(from)), end_ns: String(1700000000000000007n + BigInt(to)), ...more })
const path = decodePath({
  trace_id: 't', root_span_id: 'a', other_roots: [], start_ns: '1700000000000000007', end_ns: '1700000000000000107', clock: 'aligned', clock_error_ns: 0, complete: true,
  segments: [segment('a', 'A', 'self', 0, 10), segment('b', 'B', 'network', 10, 60), segment('d', 'D', 'self', 60, 90, { alternatives: ['b'] }), segment('a', 'A', 'self', 90, 100)],
  what_if: { matched: 2, duration_ns: 75 },
}, small)

test('a path keeps exact times and finds the segments of a block and of an instant', () => {
  equal([[...path.start], [...path.length], [...path.block]], [[0, 10, 60, 90], [10, 50, 30, 10], [0, 1, 3, 0]])
  equal([...path.order.slice(path.first[0], path.first[1])], [0, 3])
  equal(path.totals, { self: 50, blocked: 0, network: 50, queue: 0, unknown: 0 })
  equal(pathParts(path).map((p) => [p.name, p.verdict, p.total, p.segments]), [['B', 'network', 50, 1], ['D', 'self', 30, 1], ['A', 'self', 20, 2]])
  equal(timeOnPath(path, 0), [['self', 20]])
  equal([0, 9, 10, 59, 60, 99, 100].map((t) => firstSegmentAfter(path, t)), [0, 0, 1, 1, 2, 3, 4])
  equal(path.whatIf, { matched: 2, durationNs: 75 })
})

test('places and changes are read as the command line reads them', () => {
  equal(parsePlace('a1', 'end'), { spanId: '00000000000000a1', side: 'end' })
  equal(parsePlace('a1:start', 'end').side, 'start')
  equal([parsePlace('x', 'end'), parsePlace(null, 'start')], [null, null])
  equal(['type/resource=0.5x', 'operation/GET /a=b=2x', 'service/*=0x'].map(whatIfProblem), [null, null, null])
  for (const bad of ['storage', 'service/a=half', 'host/a=2x', 'service/=2x']) if (whatIfProblem(bad) === null) throw new Error(`${bad} is taken`)
})

// Frames: 0 main, 1 main;a, 2 main;a;b, 3 main;c.
const stacks = (samples) => ({
  trace_id: 't', start_ns: 0, end_ns: 0, clock: 'aligned', strings: ['', 'main', 'a', 'b', 'c'], frames: { parent: [-1, 0, 1, 0], name: [1, 2, 3, 4] },
  samples: { time: samples.map((s) => s[0]), length: samples.map((s) => s[1]), unit: samples.map((s) => s[3] ?? 0), block: samples.map(() => 0), stack: samples.map((s) => s[2]) },
})
const boxes = (b) => Array.from({ length: b.count }, (_, i) => `${b.level[i]}:${b.start[i]}+${b.length[i]} ${['', 'main', 'a', 'b', 'c'][b.name[i]]}`)

test('samples stand for the time to the next one, but a pause is no work', () => {
  const s = samplesOf(stacks([[0, 0, 2], [10, 0, 2], [15, 0, 3, 1], [20, 0, 3], [100, 0, 1], [110, 0, 1]]), 0)
  equal([[...s.start], [...s.length], [...s.stack], s.interval], [[0, 20, 100], [20, 15, 20], [2, 3, 1], 10])
  equal(boxes(timeOrder(s)), ['0:0+35 main', '0:100+20 main', '1:0+20 a', '1:20+15 c', '1:100+20 a', '2:0+20 b'])
  equal(boxes(leftHeavy(s)), ['0:0+55 main', '1:0+40 a', '1:40+15 c', '2:0+20 b'])
  equal(functionTotals(s).map((t) => [t.name, t.total, t.self]), [[2, 40, 20], [3, 20, 20], [4, 15, 15], [1, 55, 0]])
  const around = sandwich(s, 2)
  equal([boxes(around.callers), boxes(around.callees)], [['0:0+40 main'], ['0:0+40 a', '1:0+20 b']])
  const b = timeOrder(s)
  equal([boxAt(b, 1, 5), boxAt(b, 1, 50), boxAt(b, 2, 25), boxAt(b, 9, 0)].map((i) => (i < 0 ? null : boxes(b)[i])), ['1:0+20 a', null, null, null])
})

test('a stack on a block covers the block, less what blocks inside it ran', () => {
  const s = samplesOf(stacks([[0, 100, 1], [20, 30, 2], [60, 10, 3]]), 0)
  equal([[...s.start], [...s.length], [...s.stack]], [[0, 20, 50, 60, 70], [20, 30, 10, 10, 30], [1, 2, 1, 3, 1]])
})

test('two traces are ranked by difference in own time', () => {
  const other = { ...small, own: Float64Array.of(20, 90, 10, 5), name: Int32Array.of(3, 4, 5, 9) }
  equal(compareOperations(small, other).map((r) => [r.name, r.a?.own ?? null, r.b?.own ?? null, r.difference]), [['B', 40, 90, 50], ['D', 30, null, -30], ['done', null, 5, 5], ['A', 20, 20, 0], ['C', 10, 10, 0]])
})

const explained = (options) => decodeExplanation(parseExact(json(explainMock(checkout(random(1), 1_794_741_617_123_456_789n, { slow: true, traceId: 'a'.repeat(32) }), options))))
const total = (list) => list.reduce((a, b) => a + b, 0)

test('an explanation keeps exact times, and its own times add up to the delay', () => {
  const x = explained()
  equal(x.originNs, 1_794_741_617_123_456_789n)
  equal(total(x.vertices.map((v) => v.own)), x.delay)
  equal(x.vertices[x.root].name, 'POST /checkout')
  equal(x.vertices.find((v) => v.count === 58).work.length, 1, 'one span of this trace stands for all')
})

test('what is drawn keeps the flow: steps in a row become one, trifles go', () => {
  const x = explained()
  const d = drawnPart(x, false)
  const steps = d.vertices.filter((v) => v.steps.length > 0)
  equal(steps.map((v) => v.steps.length), [2])
  for (const [i, v] of d.vertices.entries()) {
    const into = total(d.edges.filter((e) => e.to === i).map((e) => e.delay))
    if (Math.abs(into + v.own - v.delay) > d.delay * 0.01) throw new Error(`${v.name}: ${v.delay} is not ${v.own} and ${into}`)
  }
  equal(drawnPart(x, true), x)
})

test('unfolding keeps every instant: members and the rest have what the whole had', () => {
  const x = explained()
  const merged = x.vertices.find((v) => v.count === 58)
  const open = unfold(x, explained({ apart: true }), new Set([merged.id]))
  const parts = open.vertices.filter((v) => !v.functional && v.origin === 'maintenance')
  equal(parts.length, 6)
  equal(total(parts.map((v) => v.count)), 58)
  if (Math.abs(total(parts.map((v) => v.own)) - merged.own) > 100) throw new Error('time was lost')
  const scan = open.vertices.findIndex((v) => v.functional && v.name === 'GET /items')
  const behind = open.edges.filter((e) => e.to === scan && e.kind === 'sequencing' && parts.includes(open.vertices[e.from]))
  equal(behind.length, 6)
  equal(open.vertices[open.root].id, x.vertices[x.root].id)
  equal(unfold(x, explained({ apart: true }), new Set(['nobody'])), x)
})

test('layers: causes below effects, no two boxes overlap, cycles end', () => {
  const rnd = random(3)
  const pick = (n) => Math.floor(rnd() * n)
  for (let round = 0; round < 60; round++) {
    const n = 1 + pick(30)
    const edges = Array.from({ length: pick(60) }, () => ({ from: pick(n), to: pick(n), weight: rnd() }))
    const out = layOutLayers(n, edges, { node: 100, bend: 10, gap: 20 })
    for (let a = 0; a < n; a++) {
      for (let b = 0; b < a; b++) if (out.layer[a] === out.layer[b] && Math.abs(out.x[a] - out.x[b]) < 120 - 1e-6) throw new Error(`${a} and ${b} overlap`)
    }
    edges.forEach((e, i) => equal(out.bends[i].length, Math.max(0, Math.abs(out.layer[e.from] - out.layer[e.to]) - 1)))
  }
  equal(layOutLayers(3, [{ from: 0, to: 1, weight: 1 }, { from: 1, to: 2, weight: 1 }], { node: 100, bend: 10, gap: 20 }).x, [50, 50, 50])
})

test('a change to try, a question and its command', () => {
  equal(explainWhatIfProblem('storage/GET /scan=0.5x'), null)
  equal(explainWhatIfProblem('*=2x'), null)
  for (const bad of ['storage', 'storage=2', '=2x']) if (explainWhatIfProblem(bad) === null) throw new Error(`${bad} is taken`)
  const q = explainQuery('', new URLSearchParams("service=a b&operation=it's&since=all&view=table"))
  equal(q.toString(), 'service=a+b&operation=it%27s&since=0')
  equal(commandFor('', q), "wherefore explain --service 'a b' --operation 'it'\\''s' --since 0")
  equal(commandFor('ab', new URLSearchParams('baseline=true&what_if=x=2x')), 'wherefore explain ab --baseline --what-if x=2x')
})

const node = (name, callDelay, latency, own, children = []) => ({ node: name, latency_ns: latency, call_delay_ns: callDelay, steps_ns: [own], children })
const pattern = (id, shape, count, root) => decodePattern({ id, count, shape, total_latency_ns: count * root.latency_ns, latency_ns: { mean: root.latency_ns, p50: root.latency_ns, p99: root.latency_ns }, client: 'U', root })

test('a path reads as one line, and its places lie where they are called', () => {
  const p = pattern('a', 's', 1, node('W', 0, 100, 30, [node('A', 10, 40, 20, [node('D', 5, 20, 20)]), node('P', 60, 30, 30)]))
  equal(pathText(p.nodes), 'W → A (→ D), P')
  equal(p.nodes.map((n) => n.start), [0, 10, 15, 60])
  equal(p.nodes.map((n) => n.end), [4, 3, 3, 4])
  equal(p.largestOwn, 0, 'the first of the largest own times')
  equal(pathText(pattern('b', 's', 1, node('W', 0, 9, 9)).nodes), 'W')
})

test('patterns of one shape are a cluster, with the names of each place', () => {
  const tree = (web, app) => node(web, 0, 100, 10, [node('AUTH', 10, 20, 20), node(app, 40, 30, 10, [node('DB', 5, 5, 5)])])
  const list = clusters([pattern('a', 's', 2, tree('W1', 'P1')), pattern('b', 't', 9, node('X', 0, 30, 30)), pattern('c', 's', 1, tree('W2', 'P1')), pattern('d', 's', 1, tree('W1', 'P2'))], 'total')
  equal(list.map((c) => [c.shape, c.count, c.total]), [['s', 4, 400], ['t', 9, 270]])
  // Children stand by shape here: the leaf and the larger subtree each meet their like.
  equal(list[0].names, 'W1|W2 → AUTH, P1|P2 → DB')
  equal(clusters([pattern('a', 's', 2, tree('W1', 'P1')), pattern('b', 't', 9, node('X', 0, 30, 30))], 'count').map((c) => c.shape), ['t', 's'])
})

test('the node that grew most, although its place among siblings moved', () => {
  const before = pattern('a', 's', 1, node('W', 0, 100, 50, [node('A', 10, 20, 20), node('B', 40, 30, 30)]))
  const after = pattern('a', 's', 1, node('W', 0, 160, 52, [node('B', 10, 88, 88), node('A', 110, 20, 20)]))
  const { others, grewMost } = compareNodes(before, after)
  equal(others.map((n) => n.node), ['W', 'B', 'A'])
  equal(after.nodes[grewMost].node, 'B')
  equal(compareNodes(before, before).grewMost, -1, 'nothing grew')
  equal(compareNodes(null, after).others, [null, null, null])
})

test('time is split where latency changes, and at a pause if that is nearly as good', () => {
  const spans = (values) => values.map((v, i) => ({ fromNs: BigInt(i), untilNs: BigInt(i + 1), count: v === null ? 0 : 10, latency: v ?? 0 }))
  equal(bestSplit(spans([10, 11, 10, 30, 31, 30])), 3)
  equal(bestSplit(spans([10, 11, null, null, 24, 30, 31])), 4)
  equal(bestSplit(spans([10, null, 10, 10, 10, 30, 30, 30])), 5, 'a pause far from the change')
  equal(bestSplit(spans([10, 30, 30])), null)
  equal(binQuantile([[0, 10, 5], [10, 20, 4], [20, 30, 1]], 0.5), 10)
  equal(binQuantile([[0, 10, 5], [10, 20, 4], [20, 30, 1]], 0.99), 30)
})

test('losses are summed by what they are, and say whether spans were lost', () => {
  equal(describeLosses([['feature_rows_dropped', 200_016], ['features_over_budget', 0]]), '200,016 dataset rows skipped; no spans lost')
  equal(describeLosses([['otlp_spans_rejected', 1], ['zipkin_spans_rejected', 2], ['feature_rows_dropped', 1]]), '3 spans lost, 1 dataset row skipped')
  equal(describeLosses([['self_trace_dropped', 1]]), '1 record of the server’s own trace lost; no spans lost')
  equal(describeLosses([['otlp_metrics_rejected', 1], ['int_lost', 2]]), '1 metric, log or profile record not stored, 2 other items lost; no spans lost')
  equal(['otlp_spans_rejected', 'repaired_attribute_dropped', 'otlp_requests_refused', 'otlp_spans_accepted'].map((n) => [isLoss(n), isRepair(n), isRefusal(n)]), [[true, false, false], [false, true, false], [false, false, true], [false, false, false]])
})

test('a time range ends a sentence', () => {
  equal(rangePhrase({ since: '1h', until: null }), 'in the last hour')
  equal(rangePhrase({ since: 'all', until: null }), 'over all time')
  equal(rangePhrase({ since: '2026-11-18T12:00', until: null }), 'since 2026-11-18 12:00')
  equal(rangePhrase({ since: '2026-11-18T12:00', until: '2026-11-18T13:00' }), 'between 2026-11-18 12:00 and 2026-11-18 13:00')
  equal(rangePhrase({ since: 'all', until: '2026-11-18T13:00' }), 'before 2026-11-18 13:00')
})

process.exit(failed ? 1 : 0)
