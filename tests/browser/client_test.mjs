// The browser client in a real browser, on a real page: what it sends and when, and that the trace needs no repair.
// needs: wherefore
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { atEnd, check, equal, eventually, ROOT, run, startServer, test } from './harness.mjs'
import { FILES, startSite } from './client_site.mjs'

const binary = process.env.WHEREFORE ?? join(ROOT, 'build/release/wherefore')
const folder = mkdtempSync(join(tmpdir(), 'wherefore-client-'))
atEnd(async () => rmSync(folder, { recursive: true, force: true }))

const QUICK = { service: 'site-web', quietMs: 150, flushMs: 50 }
async function openSite(open, { path = '/', options = {}, scripts = {}, site: siteOptions = {}, ...more } = {}) {
  const site = await startSite(siteOptions)
  atEnd(site.close)
  site.options = { ...QUICK, ...options }
  Object.assign(site.scripts, scripts)
  const page = await open({ url: site.url + path, ...more })
  return { site, page }
}

const label = (event, name) => event.annotations?.[`label:${name}`]
const counter = (event, name) => Number(event.annotations?.[`counter:${name}`])
const ofType = (events, type) => events.filter((e) => e.type === type)
const causes = (site) => ofType(site.events(), 'trace_start').map((e) => label(e, 'cause'))
// The events of the trace that this caused, once it has ended.
async function traceOf(site, cause, nth = 0) {
  let found
  await eventually(() => {
    const events = site.events()
    const start = ofType(events, 'trace_start').filter((e) => label(e, 'cause') === cause)[nth]
    found = start && events.filter((e) => e.trace_id === start.trace_id)
    return found?.some((e) => e.type === 'unit_end' && e.id1 === start.id1)
  }, `no ${cause} trace arrived whole; arrived: ${causes(site)}`, 20_000)
  return found
}

// What the product makes of these events (and of the site's own spans): the modeled trace.
let stores = 0
function modeled(site, traceId, { spans = false } = {}) {
  const store = join(folder, `store-${++stores}`)
  const file = join(folder, `events-${stores}.jsonl`)
  const files = [file]
  writeFileSync(file, site.received.map(({ line }) => line + '\n').join(''))
  if (spans) {
    files.push(join(folder, `spans-${stores}.json`))
    writeFileSync(files[1], JSON.stringify(site.otlp([traceId])))
  }
  const ask = (...args) => JSON.parse(execFileSync(binary, [...args, '--store', store, '--format', 'json'], { encoding: 'utf8' }))
  const imported = ask('import', ...files)
  equal(imported.rejected, 0, `rejected by import (${JSON.stringify(imported)})`)
  return { ...ask('trace', traceId), path: () => ask('critical-path', traceId) }
}
function checkSound(trace) {
  equal(JSON.stringify(trace.violations), '[]', 'violations')
  equal(JSON.stringify(trace.repairs), '[]', 'repairs')
  equal(JSON.stringify(trace.missing), '[]', 'missing')
}

test('a page load is a trace of the unit Client, with its loads, marks and blocks', async ({ open }) => {
  const { site } = await openSite(open, { options: { waitFor: 'display_done' } })
  const events = await traceOf(site, 'navigation')
  const unit = ofType(events, 'unit_begin').find((e) => label(e, 'name') === 'Client')
  equal(label(unit, 'service'), 'site-web', 'service')
  check(/^browser-[0-9a-f]{8}$/.test(label(unit, 'host')), `host ${label(unit, 'host')}`)

  const loads = new Map(ofType(events, 'edge_begin').map((e) => [label(e, 'url'), e]))
  for (const [path, kind, body] of [['/style.css', 'css', FILES['/style.css'][1]], ['/app.js', 'js', site.scripts['/app.js']], ['/pic.svg', 'img', FILES['/pic.svg'][1]]]) {
    const edge = loads.get(path)
    check(edge, `no load of ${path}; there are ${[...loads.keys()]}`)
    equal(label(edge, 'type'), 'resource', `type of ${path}`)
    equal(label(edge, 'resource'), kind, `kind of ${path}`)
    equal(counter(edge, 'bytes:B'), Buffer.byteLength(body), `bytes of ${path}`)
    equal(label(edge, 'blocking'), kind === 'img' ? 'false' : 'true', `whether ${path} is waited for`)
    const end = ofType(events, 'edge_end').find((e) => e.id1 === edge.id1)
    check(end && BigInt(end.time_ns) >= BigInt(edge.time_ns), `${path} has no end after its begin`)
  }
  equal(label(loads.get('/'), 'resource'), 'document', 'the page itself')
  check(![...loads.keys()].some((url) => /events/.test(url)), 'the client records its own requests')

  const markers = ofType(events, 'point').map((e) => label(e, 'marker'))
  for (const marker of ['display_done', 'response_start', 'dom_interactive', 'load_event_end', 'first_contentful_paint']) check(markers.includes(marker), `no ${marker} among ${markers}`)
  const names = ofType(events, 'block_begin').map((e) => label(e, 'name'))
  for (const name of ['navigation', 'render', 'render list', 'long_task']) check(names.includes(name), `no block ${name} among ${names}`)
})

test('a page load models without violation, repair or loss, and its blocks nest', async ({ open }) => {
  const { site } = await openSite(open)
  const [{ trace_id }] = await traceOf(site, 'navigation')
  const trace = modeled(site, trace_id)
  checkSound(trace)
  equal(trace.complete, true, 'complete')
  equal(trace.units.map((u) => u.name).join(), 'Client', 'units')
  const named = (name) => trace.blocks.find((b) => b.name === name)
  equal(named('render list').parent_id, named('render').span_id, 'parent of the inner block')
  const task = trace.blocks.find((b) => b.span_id === named('render').parent_id)
  equal(task.name, 'long_task', 'parent of the outer block')
  equal(task.parent_id, named('navigation').span_id, 'parent of the long task')
  const resources = trace.edges.filter((e) => e.type === 'resource' || e.name === 'resource')
  check(resources.length >= 4, `${resources.length} resource edges`)
  // The script could not run before it was there: loads are on the critical path, and so is the page's own work.
  const steps = trace.path().segments.map((s) => `${s.category} ${s.name}`)
  for (const step of ['blocked navigation', 'self long_task', 'self render list']) check(steps.includes(step), `no "${step}" on the path: ${steps.join(', ')}`)
})

test('times are exact: whole nanoseconds, as integers, near the wall clock', async ({ open }) => {
  const before = BigInt(Date.now()) * 1_000_000n
  const { site } = await openSite(open)
  await traceOf(site, 'navigation')
  for (const { line } of site.received) {
    const [, digits] = /"time_ns":(\d+)[,}]/.exec(line) ?? []
    check(digits?.length === 19, `time_ns is no integer of nanoseconds: ${line}`)
    const off = BigInt(digits) - before
    check(off > -5_000_000_000n && off < 60_000_000_000n, `time_ns is ${off} ns from now`)
  }
  // Blocks that began within one tick of the browser's clock still have an order.
  const begins = site.received.filter(({ line }) => /"name":|label:piece/.test(line) && /block_begin/.test(line)).map(({ line }) => /"time_ns":(\d+)/.exec(line)[1])
  equal(new Set(begins).size, begins.length, 'distinct begins')
})

test('a click starts a trace, and the request it makes continues it on the server', async ({ open }) => {
  const { site, page } = await openSite(open)
  await traceOf(site, 'navigation')
  await page.click('#buy')
  const events = await traceOf(site, 'click')
  const root = ofType(events, 'block_begin').find((e) => label(e, 'name') === 'click')
  equal(label(root, 'target'), 'button#buy', 'target')
  const asked = site.requests.find(({ path }) => path.startsWith('/api/data'))
  const [, traceId, parent, flags] = asked.headers.traceparent.split('-')
  equal(traceId, root.trace_id, 'trace id on the wire')
  equal(flags, '01', 'sampled flag')
  equal(asked.headers['x-own'], '1', "the page's own header")
  const block = ofType(events, 'block_begin').find((e) => e.id1 === parent)
  equal(label(block, 'name'), 'GET /api/data', 'the block of the request, without its query')
  check(!site.received.some(({ line }) => line.includes('secret')), 'a query string left the page')
  check(ofType(events, 'point').some((e) => label(e, 'marker') === 'bought'), 'the mark after the answer is not in the trace')
  const load = ofType(events, 'edge_begin').find((e) => label(e, 'request') === parent)
  equal(counter(load, 'bytes:B'), 1234, 'bytes of the answer')

  const trace = modeled(site, root.trace_id, { spans: true })
  checkSound(trace)
  equal(trace.units.map((u) => u.service).sort().join(), 'site,site-web,site-web', 'services')
  const served = trace.blocks.find((b) => b.name === 'GET /api/data' && b.span_id !== parent)
  equal(served.parent_id, parent, "parent of the server's span")
})

test('a click made by code starts no trace', async ({ open }) => {
  const { site, page } = await openSite(open)
  await traceOf(site, 'navigation')
  await page.evaluate(() => document.getElementById('buy').click())
  await page.click('h1')
  await traceOf(site, 'click')
  equal(causes(site).join(), 'navigation,click', 'causes')
})

test('a scroll by hand starts a trace, one by code does not', async ({ open }) => {
  const { site, page } = await openSite(open)
  await traceOf(site, 'navigation')
  await page.evaluate(() => new Promise((done) => {
    addEventListener('scroll', () => requestAnimationFrame(done), { once: true })
    scrollTo(0, 300)
  }))
  await page.mouse.move(200, 200)
  await page.mouse.wheel(0, 900)
  const events = await traceOf(site, 'scroll')
  equal(causes(site).join(), 'navigation,scroll', 'causes')
  check(ofType(events, 'point').some((e) => label(e, 'marker') === 'scroll_end'), 'no scroll_end')
  checkSound(modeled(site, events[0].trace_id))
})

test('a trace in progress is ended and sent by beacon when the page is closed', async ({ open }) => {
  const { site, page } = await openSite(open, { options: { flushMs: 600_000, quietMs: 600_000, maxTraceMs: 900_000 } })
  await page.evaluate(() => new Promise((done) => (document.readyState === 'complete' ? setTimeout(done, 50) : addEventListener('load', () => setTimeout(done, 50)))))
  await page.click('h1')
  equal(site.received.length, 0, 'events before the page went away')
  await page.click('#away')
  const load = await traceOf(site, 'navigation')
  const clicks = [await traceOf(site, 'click', 0), await traceOf(site, 'click', 1)]
  equal(label(clicks[1].find((e) => e.type === 'block_begin'), 'target'), 'a#away', 'the click that left the page')
  check(site.received.every(({ mode }) => mode === 'no-cors'), `not by beacon: ${[...new Set(site.received.map(({ mode }) => mode))]}`)
  check(site.received.every(({ type }) => /^text\/plain/.test(type)), 'the content type would need a preflight')
  for (const [{ trace_id }] of [load, ...clicks]) checkSound(modeled(site, trace_id))
})

test('a navigation joins the trace of the server that served it', async ({ open }) => {
  const { site } = await openSite(open, { site: { navigationTiming: '01' } })
  const events = await traceOf(site, 'navigation')
  equal(events[0].trace_id, site.spans[0].traceId, 'trace id')
  for (const type of ['rpc_cs', 'rpc_cr']) equal(ofType(events, type)[0].id1, site.spans[0].spanId, `${type} names the server's span`)
  const trace = modeled(site, events[0].trace_id, { spans: true })
  checkSound(trace)
  const served = trace.blocks.find((b) => b.span_id === site.spans[0].spanId)
  equal(served.parent_id, trace.blocks.find((b) => b.name === 'navigation').span_id, "parent of the server's span")
})

test('clocks that differ by half a minute are aligned over the calls between page and server', async ({ open }) => {
  const { site, page } = await openSite(open, { site: { navigationTiming: '01', skewNs: -30_000_000_000n } })
  await traceOf(site, 'navigation')
  await page.click('#buy')
  for (const cause of ['navigation', 'click']) {
    const [{ trace_id }] = await traceOf(site, cause)
    const trace = modeled(site, trace_id, { spans: true })
    checkSound(trace)
    check(trace.end_ns - trace.start_ns < 20e9, `${cause} lasts ${trace.end_ns - trace.start_ns} ns`)
  }
})

test('opportunistic tracing: kept until the server says yes', async ({ open }) => {
  const { site, page } = await openSite(open, { options: { decide: 'server' } })
  let answer
  site.answerData = new Promise((resolve) => (answer = resolve))
  await page.click('#buy')
  await eventually(() => site.requests.some(({ path }) => path.startsWith('/api/data')), 'no request')
  const { headers } = site.requests.find(({ path }) => path.startsWith('/api/data'))
  equal(headers.traceparent.slice(-2), '00', 'flags before the decision')
  equal(headers.tracestate, 'wf=o', 'mark of the undecided trace')
  await page.waitForTimeout(400) // longer than flushMs: events sent too early would be here
  equal(site.received.length, 0, 'events before the decision')
  answer()
  const events = await traceOf(site, 'click')
  equal(events[0].trace_id, headers.traceparent.split('-')[1], 'trace id')
  check(ofType(events, 'block_begin').some((e) => label(e, 'name') === 'click'), 'what happened before the decision is missing')
})

test('opportunistic tracing: dropped, and counted, when the server says no', async ({ open }) => {
  const { site, page } = await openSite(open, { options: { decide: 'server' }, site: { navigationTiming: '00' } })
  site.decision = '00'
  await page.click('#buy')
  await eventually(async () => (await page.title()).startsWith('ddd'), 'no answer')
  await eventually(() => page.evaluate(() => wherefore.counters().unsampled > 3), 'nothing was counted')
  await page.evaluate(() => wherefore.flush())
  await page.goto(`${site.url}/gone`)
  equal(site.received.length, 0, 'events of traces nobody wants')
})

test('only the own origin, and those on the list, get traceparent', async ({ open }) => {
  const [listed, unlisted] = [await startSite(), await startSite()]
  atEnd(listed.close)
  atEnd(unlisted.close)
  const others = [listed.url, unlisted.url]
  const script = `addEventListener('load', async () => {
    for (const origin of ${JSON.stringify(others)}) await (await fetch(origin + '/api/data')).text()
    const xhr = new XMLHttpRequest()
    xhr.open('GET', '/api/data')
    xhr.onloadend = () => performance.mark('all_done')
    xhr.send()
  })`
  const { site } = await openSite(open, { path: '/cross', scripts: { '/cross.js': script }, options: { propagateTo: [listed.url], waitFor: 'all_done' }, otherOrigins: others })
  const events = await traceOf(site, 'navigation')
  const traceparent = (s) => s.requests.find(({ path, method }) => path === '/api/data' && method === 'GET').headers.traceparent
  equal(traceparent(listed)?.split('-')[1], events[0].trace_id, 'trace id for the listed origin')
  equal(traceparent(site)?.split('-')[1], events[0].trace_id, 'trace id of the XMLHttpRequest')
  equal(traceparent(unlisted), undefined, 'traceparent for another origin')
  const urls = ofType(events, 'edge_begin').map((e) => label(e, 'url'))
  for (const url of [`${unlisted.url}/api/data`, `${listed.url}/api/data`, '/api/data']) check(urls.includes(url), `no load of ${url} among ${urls}`)
  checkSound(modeled(site, events[0].trace_id))
})

// On a server that has the route (api/openapi.yaml): sent to it from another origin, found again whole.
async function eventsRoute(flags) {
  const server = await startServer(flags)
  const routes = server.real ? await (await fetch(`${server.url}/api/v1/routes`)).json() : []
  if (routes.some(({ method, path }) => method === 'POST' && path === '/api/v1/events')) return server
  await server.stop()
  return undefined
}
const listed = await startSite()
atEnd(listed.close)
const server = await eventsRoute(['--events-origins', listed.url])
if (server) {
  test('a listed site sends to the server itself, and an unlisted one is refused', async ({ open }) => {
    const sites = [listed, await startSite()]
    atEnd(sites[1].close)
    const pages = []
    for (const site of sites) {
      site.options = { ...QUICK, endpoint: `${server.url}/api/v1/events`, service: `web-${pages.length}` }
      pages.push(await open({ url: `${site.url}/`, otherOrigins: [server.url], expectFailures: true }))
      await pages.at(-1).click('#buy')
    }
    const traces = async (service) => (await (await fetch(`${server.url}/api/v1/traces?service=${service}`)).json()).traces
    await eventually(async () => (await traces('web-0')).length >= 2, 'the traces of the listed site are not found', 20_000)
    await pages[0].goto(`${listed.url}/gone`) // what is left leaves by beacon
    for (const { trace_id } of await traces('web-0')) {
      const trace = () => fetch(`${server.url}/api/v1/trace/${trace_id}`).then((r) => r.json())
      await eventually(async () => (await trace()).units.every((u) => u.end_ns >= u.start_ns) && (await trace()).complete, 'a trace is not whole', 20_000)
      checkSound(await trace())
      check((await trace()).units.some((u) => u.name === 'Client'), 'no unit Client')
    }
    const denied = async () => Number(/http_denied\S* (\d+)/.exec(await (await fetch(`${server.url}/metrics`)).text())?.[1])
    await eventually(async () => (await denied()) > 0, 'the unlisted site was not refused', 30_000)
    equal((await traces('web-1')).length, 0, 'traces of the unlisted site')
  })
}

test('fetch and XMLHttpRequest behave as without the client', async ({ open }) => {
  const script = `addEventListener('load', async () => {
    const results = []
    const controller = new AbortController()
    controller.abort()
    await fetch('/api/data', { signal: controller.signal }).catch((e) => results.push(e.name))
    await fetch('http://[broken').catch((e) => results.push(e.name))
    await fetch(new Request('/api/data', { method: 'POST', body: 'x', headers: { 'x-own': '2' } })).then((r) => results.push(r.status))
    await fetch('/api/data', { headers: { traceparent: '00-${'ab'.repeat(16)}-${'cd'.repeat(8)}-01' } }).then((r) => results.push(r.headers.get('traceresponse').slice(3, 7)))
    try { new XMLHttpRequest().send() } catch (e) { results.push(e.name) }
    try { wherefore.block('fails', () => { throw new RangeError('own') }) } catch (e) { results.push(e.name) }
    results.push(wherefore.block('gives', () => 7))
    wherefore.stop()
    results.push(String(fetch).includes('[native code]'), String(XMLHttpRequest.prototype.send).includes('[native code]'))
    window.results = results
  })`
  const { site, page } = await openSite(open, { path: '/odd', scripts: { '/odd.js': script }, expectFailures: true })
  await eventually(() => page.evaluate(() => window.results), 'the page did not finish')
  equal(JSON.stringify(await page.evaluate(() => window.results)), JSON.stringify(['AbortError', 'TypeError', 200, 'abab', 'InvalidStateError', 'RangeError', 7, true, true]), 'results')
  equal(site.requests.find(({ method, path }) => method === 'POST' && path === '/api/data').headers['x-own'], '2', 'header of the Request')
  equal(JSON.stringify(Object.keys(await page.evaluate(() => wherefore.counters())).filter((k) => k === 'internal_error')), '["internal_error"]', 'the broken URL, counted')
  checkSound(modeled(site, (await traceOf(site, 'navigation'))[0].trace_id))
})

test('a trace holds a max number of events; the rest are counted and reported', async ({ open }) => {
  const script = `for (let i = 0; i < 500; i++) wherefore.mark('m' + i)`
  const { site, page } = await openSite(open, { path: '/many', scripts: { '/many.js': script }, options: { maxEvents: 40 } })
  const events = await traceOf(site, 'navigation')
  check(events.length <= 80, `${events.length} events of at most 40 and their ends`)
  const lost = await page.evaluate(() => wherefore.counters().trace_full)
  check(lost >= 460, `${lost} counted`)
  equal(counter(ofType(events, 'unit_end').at(-1), 'lost_trace_full'), lost, 'told')
  checkSound(modeled(site, events[0].trace_id))
})

test('starts above the rate are counted', async ({ open }) => {
  const script = `for (let i = 0; i < 10; i++) wherefore.trace('t' + i)`
  const { site, page } = await openSite(open, { path: '/rate', scripts: { '/rate.js': script }, options: { startsPerMinute: 4 } })
  await traceOf(site, 'code', 2)
  equal(await page.evaluate(() => wherefore.counters().starts_limited), 7, 'starts refused')
  equal(causes(site).length, 4, 'traces')
})

test('a server error is retried, a refusal is not', async ({ open }) => {
  const { site, page } = await openSite(open, { expectFailures: true, site: {}, options: {} })
  site.status = 503
  await page.click('h1')
  await eventually(() => site.requests.filter(({ path }) => path === '/api/v1/events').length >= 2, 'no second try', 20_000)
  site.status = 200
  await traceOf(site, 'click')
  site.status = 403
  await page.click('h1')
  await eventually(() => page.evaluate(() => wherefore.counters().refused > 0), 'the refusal is not counted', 20_000)
})

test('the off switches: no hook, no request', async ({ open }) => {
  for (const init of ['window.WHEREFORE_OFF = true', 'localStorage.setItem("wherefore.off", "1")']) {
    const { site, page } = await openSite(open, { init })
    await page.click('#buy')
    await eventually(async () => (await page.title()).startsWith('ddd'), 'no answer')
    equal(await page.evaluate(() => String(fetch).includes('[native code]')), true, `fetch untouched under ${init}`)
    check(!site.requests.some(({ headers, path }) => headers.traceparent || path === '/api/v1/events'), `something was sent under ${init}`)
  }
})

await run()
