// The UI's pure parts, without a browser: exact integers, the filter language, units, and the waterfall's ranges.
// parallel: yes
import { mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { json, MockStore } from './mock_server.mjs'
import { huge, random } from './scenario.mjs'

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
const { learnServices, servicePlace, paletteSize } = await load('parts/colours.ts')
const { ticks } = await load('trace/waterfall_painter.ts')

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
  learnServices(names)
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

process.exit(failed ? 1 : 0)
