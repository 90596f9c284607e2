// Page loads before and after a change, as events, and the datasets made of them: what the population views are tested
// with. After the change the style sheets have 10 kB more, which takes 300 ms; nothing else differs.
import { check } from './harness.mjs'
import { random } from './scenario.mjs'

const MS = 1_000_000n
export const PAGES = 240

export const PAGES_YAML = `
dataset: pages
owner: web
filter: Blocks | Filter(name = "load") | Exists
row: Trace
columns: |
  load = Blocks | Filter(name = "load") | First
  load | Duration | RecordAs("latency_ns")
  load | Counter(css_bytes) | RecordAs("css_bytes")
  load | Counter(js_bytes) | RecordAs("js_bytes")
  load | Label(country) | RecordAs("country")
  load | Label(browser) | RecordAs("browser")
  load | Label(version) | RecordAs("version")
`
export const SAMPLES_YAML = `
dataset: samples
owner: web
row: Points
columns: |
  Row | Stack | RecordAs("stack")
  Row | Label(version) | RecordAs("version")
`

// `count` loads ending at `endNs`, 10 s apart; the second half has the change.
export function pageEvents(endNs, count = PAGES, seed = 5) {
  const rnd = random(seed)
  const lines = []
  const pick = (list) => list[Math.floor(rnd() * list.length)]
  for (let i = 0; i < count; i++) {
    const changed = i >= count / 2
    const css = 42_000 + Math.floor(rnd() * 3000) + (changed ? 10_000 : 0)
    const js = 180_000 + Math.floor(rnd() * 30_000)
    const latency = BigInt(Math.round((1900 + rnd() * 700 + rnd() ** 6 * 2500 + (changed ? 300 : 0)) * 1e6))
    const start = endNs - BigInt(count - i) * 10_000n * MS
    const trace = `${(seed * 1000 + i + 1).toString(16).padStart(8, '0')}${'5e'.repeat(12)}`
    const version = changed ? '1.3' : '1.2'
    const put = (type, id1, id2, time, annotations = {}) => lines.push(JSON.stringify({ trace_id: trace, type, id1, ...(id2 ? { id2 } : {}), time_ns: Number.NaN, annotations }).replace('"time_ns":null', `"time_ns":${time}`))
    put('unit_begin', 'u', '', start, { 'label:service': 'web' })
    put('block_begin', 'b', 'u', start, {
      'label:name': 'load', 'set:name': 'load', 'label:country': pick(['br', 'de', 'fr', 'in', 'us']), 'label:browser': pick(['chromium', 'firefox']), 'label:version': version,
      'counter:css_bytes:B': String(css), 'counter:js_bytes:B': String(js),
    })
    for (let s = 0; s < 3; s++) {
      const inStyle = rnd() < (changed ? 0.5 : 0.2)
      const stack = inStyle ? 'main;render;style;parse_css' : pick(['main;render;layout', 'main;script;compile', 'main;script;run;handler'])
      put('point', `p${s}`, 'b', start + (latency * BigInt(s + 1)) / 5n, { 'stack:cpu': stack, 'label:version': version })
    }
    put('block_end', 'b', '', start + latency)
    put('unit_end', 'u', '', start + latency)
  }
  return `${lines.join('\n')}\n`
}

async function post(server, path, body, type = 'application/octet-stream') {
  const answer = await fetch(server.url + path, { method: 'POST', body, headers: { 'content-type': type } })
  const text = await answer.text()
  check(answer.ok, `POST ${path} answered ${answer.status}: ${text}`)
  return JSON.parse(text)
}

export const importEvents = (server, text) => post(server, '/api/v1/import?name=events.jsonl', text)
export const applyDataset = (server, yaml) => post(server, '/api/v1/dataset/apply', yaml)
export const backfill = (server, name) => post(server, `/api/v1/dataset/backfill/${name}`, '')

// A server with the page loads in the datasets `pages` and `samples`.
export async function fillPages(server, endNs) {
  await importEvents(server, pageEvents(endNs))
  for (const yaml of [PAGES_YAML, SAMPLES_YAML]) await applyDataset(server, yaml)
  for (const name of ['pages', 'samples']) {
    const filled = await backfill(server, name)
    check(filled.rows >= PAGES, `dataset ${name} has ${filled.rows} rows`)
  }
}
