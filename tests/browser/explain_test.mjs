// Why it took that long: the sentence, the graph and its table, unfolding, places, what-if, the usual times, the slowest
// requests of an operation; and a view that throws does not break the rest of the page.
// parallel: yes
// needs: wherefore
import { readFile } from 'node:fs/promises'
import { api, atEnd, check, checkAxe, equal, eventually, everyLookInPlace, PHONE, run, settled, shoot, startServer, test } from './harness.mjs'
import { explainMock } from './mock_explain.mjs'
import { MockStore, startMock } from './mock_server.mjs'
import { checkout, compaction, hour, random } from './scenario.mjs'

const ID = 'ab'.repeat(16)
const now = BigInt(Date.now()) * 1_000_000n
const store = new MockStore()
for (const spans of hour(2, now, 30)) store.add(spans)
for (let i = 0; i < 3; i++) store.add(compaction(random(40 + i), now - 60_000_000_000n))
store.add(checkout(random(1), now - 30_000_000_000n, { slow: true, traceId: ID }))
const ours = store.traces.get(ID)
const spanOf = (name) => ours.find((s) => s.name === name).spanId
async function mock(behave = () => null) {
  const server = await startMock({ store, behave })
  atEnd(server.close)
  return server
}
const server = await mock()
const REWRITE = (await api(server, `/api/v1/explain/${ID}`)).vertices.find((v) => v.count === 58).id
const param = (page, name) => new URL(page.url()).searchParams.get(name)
const vertex = (page, name) => page.getByRole('button', { name, exact: false })
const drawn = async (page) => {
  await page.locator('.explain-svg .vertex').first().waitFor()
  await settled(page)
}
const overloaded = { status: 503, body: { error: { code: 'overloaded', message: 'The store is behind by 3 batches.', hint: 'Ask again in a moment.' } } }

test('one click from the waterfall to what it waited for, and from there to the other traces', async ({ open }) => {
  const page = await open({ url: `${server.url}/trace/${ID}` })
  await page.getByRole('link', { name: 'What did it wait for?' }).click()
  await page.waitForURL(`${server.url}/explain/${ID}`)
  await drawn(page)
  const answer = await api(server, `/api/v1/explain/${ID}`)
  equal(await page.locator('h1').innerText(), answer.sentence, 'the sentence')
  equal(await page.locator('.vertex').count(), 11, 'vertices: what carries delay, two steps in a row as one')
  await vertex(page, '2 steps').click()
  await page.getByRole('button', { name: 'compute GET storage/items reply' }).click()
  await eventually(() => param(page, 'all') === '1', 'a step of several in a row cannot be had')
  check(await page.getByLabel('All steps').isChecked(), 'not every step is shown')
  equal(await page.locator('.vertex').count(), answer.vertices.length, 'all vertices')
  await vertex(page, '58 × rewrite segment').click()
  await eventually(() => param(page, 'sel') === REWRITE, 'the selection is not in the URL')
  const panel = page.getByRole('region', { name: 'Selected step' })
  check((await panel.innerText()).includes('Not part of this request: work of maintenance'), await panel.innerText())
  const link = panel.locator('a.mono').first()
  const [, trace] = /\/trace\/([0-9a-f]{32})/.exec(await link.getAttribute('href'))
  equal(store.traces.get(trace)[0].service, 'maintenance', 'the service of the other trace')
  await link.click()
  await page.waitForURL(new RegExp(`/trace/${trace}\\?span=`))
  await page.locator('.panel').waitFor()
})

test('the server itself: what held storage’s one worker is named, drawn and linked', async ({ open }) => {
  const real = await startServer(['--tailer', 'off'])
  if (!real.real) return
  const begin = now - 90_000_000_000n
  const span = (traceId, n, parent, service, name, kind, fromMs, toMs, attributes = {}) => ({
    traceId, spanId: `${traceId.slice(0, 12)}000${n}`, parentId: parent === null ? '' : `${traceId.slice(0, 12)}000${parent}`, service, host: 'one', name, kind,
    startNs: begin + BigInt(fromMs) * 1_000_000n, endNs: begin + BigInt(toMs) * 1_000_000n, status: 'unset', attributes, events: [], links: [],
  })
  const at = (ms) => ({ 'thread.id': 7, 'wherefore.arrival_ns': begin + BigInt(ms) * 1_000_000n })
  const sweep = 'b'.repeat(32)
  const slow = 'd'.repeat(32)
  const sweeps = [span(sweep, 0, null, 'maintenance', 'sweep', 'internal', 0, 5000)]
  for (let i = 0; i < 4; i++) {
    sweeps.push(span(sweep, 1 + 2 * i, 0, 'maintenance', 'GET storage/scan', 'client', 0, 1000 * (i + 1)))
    sweeps.push(span(sweep, 2 + 2 * i, 1 + 2 * i, 'storage', 'GET /scan', 'server', 1000 * i, 1000 * (i + 1), at(0)))
  }
  await real.feed([sweeps, [
    span(slow, 0, null, 'frontend', 'GET /browse', 'server', 1000, 4300),
    span(slow, 1, 0, 'frontend', 'GET storage/get', 'client', 1010, 4250),
    span(slow, 2, 1, 'storage', 'GET /get', 'server', 4000, 4240, at(1020)),
  ]])
  const page = await open({ url: `${real.url}/explain/${slow}` })
  await drawn(page)
  const answer = await api(real, `/api/v1/explain/${slow}`)
  equal(await page.locator('h1').innerText(), answer.sentence, 'the sentence')
  equal(answer.sentence, '2.98 s of 3.30 s: waited on storage behind 3 requests from maintenance (GET /scan)', 'the sentence')
  await vertex(page, '3 × GET /scan').click()
  const panel = page.getByRole('region', { name: 'Selected step' })
  equal(await panel.locator('a.mono').first().getAttribute('href'), `/trace/${sweep}?span=${sweeps[4].spanId}`, 'the link to the culprit’s span')
  await panel.getByRole('button', { name: 'Unfold the 3 in the graph' }).click()
  await eventually(async () => (await page.locator('.vertex-off').count()) === 3, 'the server’s members do not unfold')
  await page.getByRole('button', { name: 'Compare with usual' }).click()
  await eventually(async () => (await page.locator('.explain-facts').innerText()).includes('usual p50'), 'the server does not report what is usual')
  await checkAxe(page, 'an explanation of the server')
  const svg = await fetch(real.url + (await page.getByRole('link', { name: 'SVG' }).getAttribute('href')))
  equal(svg.headers.get('content-type'), 'image/svg+xml', 'the type of the SVG')
})

test('causes and waits differ by line and word; wider means more time', async ({ open }) => {
  const page = await open({ url: `${server.url}/explain/${ID}` })
  await drawn(page)
  const ways = await page.evaluate(() => [...document.querySelectorAll('.explain-svg .way')].map((g) => ({
    behind: g.querySelector('.dashes') !== null,
    width: Number(g.querySelector('.ribbon').getAttribute('stroke-width')),
    title: g.querySelector('title').textContent,
    text: g.querySelector('text')?.textContent ?? '',
  })))
  const of = (title) => ways.find((w) => w.title.includes(title))
  equal(ways.filter((w) => w.behind).length, 3, 'sequencing edges')
  check(of('58 × rewrite').behind && of('58 × rewrite').text === 'waited for · 9 s', JSON.stringify(of('58 × rewrite')))
  check(!of('caused by GET /price').behind, 'a cause is drawn as a wait')
  check(of('58 × rewrite').width > 3 * of('7 × GET /items').width, 'the width does not follow the time')
  const dashed = await page.evaluate(() => getComputedStyle(document.querySelector('.vertex-off .vertex-box')).strokeDasharray)
  check(dashed !== 'none', 'off-path work is told by colour alone')
})

test('a merged vertex unfolds into its members, by button and by key, and folds again', async ({ open }) => {
  const page = await open({ url: `${server.url}/explain/${ID}?sel=${REWRITE}` })
  await drawn(page)
  const before = await page.locator('.vertex').count()
  await page.getByRole('button', { name: 'Unfold the 58 in the graph' }).click()
  await vertex(page, '53 × more rewrite segment').waitFor()
  equal(await page.locator('.vertex').count(), before + 5, 'vertices after unfolding')
  equal(param(page, 'open'), REWRITE, 'open in the URL')
  await shoot(page, 'explain-unfolded')
  await vertex(page, '53 × more rewrite segment').focus()
  await page.keyboard.press('u')
  await vertex(page, '58 × rewrite segment').waitFor()
  equal(param(page, 'open'), null, 'folded again')
})

test('keyboard alone: arrows go down to the culprit, Enter shows it, Escape closes', async ({ open }) => {
  const page = await open({ url: `${server.url}/explain/${ID}` })
  await drawn(page)
  await page.locator('.vertex[tabindex="0"]').focus()
  for (let i = 0; i < 5; i++) await page.keyboard.press('ArrowDown')
  check((await page.evaluate(() => document.activeElement.getAttribute('aria-label'))).startsWith('58 × rewrite segment'), 'the strongest way does not end at the culprit')
  await page.keyboard.press('ArrowRight')
  check((await page.evaluate(() => document.activeElement.getAttribute('aria-label'))).startsWith('7 × GET /items'), 'no neighbour to the right')
  await page.keyboard.press('ArrowLeft')
  await page.keyboard.press('Enter')
  await page.getByRole('region', { name: 'Selected step' }).waitFor()
  await page.keyboard.press('Escape')
  await eventually(async () => (await page.locator('.panel').count()) === 0, 'Escape does not close the panel')
  await page.keyboard.press('2')
  await page.getByRole('region', { name: 'Steps as a table' }).waitFor()
  equal(param(page, 'view'), 'table', 'the view in the URL')
})

test('places, what-if and usual times are sent to the server and kept in the URL', async ({ open }) => {
  const asked = []
  const own = await mock((path, url) => {
    if (path.startsWith('/api/v1/explain/')) asked.push(url.searchParams)
    return null
  })
  const page = await open({ url: `${own.url}/trace/${ID}?span=${spanOf('GET /price')}` })
  await page.getByRole('link', { name: 'Explain from here' }).click()
  await drawn(page)
  equal(asked.at(-1).get('from'), spanOf('GET /price'), 'from')
  await page.getByLabel('From its start or end').selectOption('end')
  await eventually(() => asked.at(-1).get('from') === `${spanOf('GET /price')}:end`, 'the end is not asked for')
  await page.getByLabel('to', { exact: true }).selectOption(spanOf('GET /items'))
  await eventually(() => asked.at(-1).get('to') === spanOf('GET /items'), 'to is not asked for')
  await page.getByLabel('From', { exact: true }).selectOption('')
  await page.getByLabel('What if').fill('storage/rewrite')
  check((await page.locator('.what-if .filter-reason').innerText()).includes('FACTORx'), 'a half-typed change has no reason')
  await page.getByLabel('What if').fill('storage/rewrite segment=0.5x')
  await page.keyboard.press('Enter')
  await page.getByText('it would take 7.9 s instead of 12.4 s (−36 %)').waitFor()
  equal(asked.at(-1).get('what_if'), 'storage/rewrite segment=0.5x', 'what_if')
  await page.getByRole('button', { name: 'Compare with usual' }).click()
  await eventually(() => asked.at(-1).get('baseline') === 'true', 'no baseline is asked for')
  await page.getByRole('button', { name: 'Table' }).click()
  const row = page.getByRole('row', { name: 'rewrite segment' })
  check((await row.innerText()).split(/\s+/).join(' ').startsWith('9 s 73 % 9 s 0'), await row.innerText())
  const copy = await open({ url: page.url() })
  await copy.getByText('it would take 7.9 s instead of 12.4 s').waitFor()
  equal(await copy.locator('.explain-table').innerText(), await page.locator('.explain-table').innerText(), 'the table behind the same URL')
})

test('the slowest requests of an operation, from search and from the form', async ({ open }) => {
  const asked = []
  const own = await mock((path, url) => {
    if (path === '/api/v1/explain') asked.push(url.searchParams.toString())
    return null
  })
  const page = await open({ url: `${own.url}/search?service=frontend&since=6h` })
  await page.getByRole('link', { name: 'Why are the slowest slow?' }).click()
  await drawn(page)
  check(/^service=\w+&operation=\S+&since=6h$/.test(asked.at(-1)), asked.at(-1))
  await page.getByRole('link', { name: 'Explain', exact: true }).first().click()
  await page.getByText('Why did it take that long?').waitFor()
  await checkAxe(page, 'explain without a question')
  await page.getByLabel('Service').selectOption('frontend')
  await page.getByLabel('Operation').selectOption('POST /checkout')
  await page.getByLabel('Slowest').fill('5')
  await page.getByRole('button', { name: 'Explain', exact: true }).click()
  await drawn(page)
  equal(asked.at(-1), 'service=frontend&operation=POST+%2Fcheckout&slowest=5&since=15m', 'the question')
  await page.getByRole('button', { name: 'all time' }).click()
  await eventually(() => asked.at(-1).endsWith('&since=0'), 'all time is not asked for')
})

test('saving: CSV has every vertex exactly, PNG and SVG are offered', async ({ open }) => {
  const page = await open({ url: `${server.url}/explain/${ID}` })
  await drawn(page)
  const answer = await api(server, `/api/v1/explain/${ID}`)
  const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'CSV' }).click()])
  const lines = (await readFile(await file.path(), 'utf8')).trim().split('\r\n').slice(1)
  equal(lines.length, answer.vertices.length, 'lines of CSV')
  equal(lines.reduce((sum, line) => sum + Number(line.split(',').at(-3)), 0), answer.delay_ns, 'own times add up to the delay')
  const [image] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Save as PNG' }).click()])
  check((await readFile(await image.path())).length > 5000, 'the picture is empty')
  equal(await page.getByRole('link', { name: 'SVG' }).getAttribute('href'), `/api/v1/explain/${ID}?format=svg`, 'the SVG')
})

test('expired causes, assumptions and the absence of waits are shown', async ({ open }) => {
  let body = explainMock(ours, { expired: true })
  const own = await mock((path) => (path.startsWith('/api/v1/explain/') ? { status: 200, body } : null))
  const page = await open({ url: `${own.url}/explain/${ID}` })
  await page.getByText('Retention removed causes of 1 step').waitFor()
  await page.getByRole('button', { name: 'Based on 2 assumptions' }).click()
  await page.getByText('workers of storage/storage-0: 1 at once (by how long requests waited), synchronous').waitFor()
  await checkAxe(page, 'expired causes')
  body = { sentence: '40.0 ms of 40.0 ms: the request’s own work', delay_ns: 40e6, from: 'a', root: 'a', edges: [], vertices: [{ id: 'a', type: 'DRV', node: 'frontend', tuple: 'x(1)', start_ns: 5, end_ns: 9, delay_ns: 40e6, self_ns: 40e6, functional: true, count: 1 }] }
  await page.reload()
  await page.getByText('no wait for other work').waitFor()
  body = { delay_ns: 0, from: 'a', root: 'a', edges: [], vertices: [] }
  await page.reload()
  await page.getByText('Nothing to explain.').waitFor()
})

test('loading, failing, and trying again', async ({ open }) => {
  let state = { delayMs: 800, ...overloaded }
  const own = await mock((path) => (path.startsWith('/api/v1/explain/') ? state : null))
  const page = await open({ url: `${own.url}/explain/${ID}?from=${spanOf('GET /price')}`, expectFailures: true })
  await page.getByText('Finding what it waited for…').waitFor()
  await page.getByRole('alert').getByText('The store is behind by 3 batches.').waitFor()
  await checkAxe(page, 'explain failing')
  await shoot(page, 'explain-failing')
  await page.getByRole('button', { name: 'Show the whole request' }).waitFor()
  state = null
  await page.getByRole('button', { name: 'Try again' }).click()
  await drawn(page)
})

test('a hundred vertices that carry delay are drawn without stutter', async ({ open }) => {
  const many = explainMock(ours)
  const scan = many.vertices.find((v) => v.tuple.startsWith('GET /items(') && v.functional).id
  for (let i = 0; i < 90; i++) {
    many.vertices.push({ ...many.vertices.at(-1), id: `many:${i}`, tuple: `step ${i}`, functional: false, origin: `team-${i}`, count: 1, delay_ns: 130e6, self_ns: 130e6 })
    many.edges.push({ from: `many:${i}`, to: i % 3 ? `many:${i - 1}` : scan, kind: i % 3 ? 'causal' : 'sequencing', delay_ns: 130e6 })
  }
  const own = await mock((path) => (path.startsWith('/api/v1/explain/') ? { status: 200, body: JSON.stringify(many, (_, v) => (typeof v === 'bigint' ? Number(v) : v)) } : null))
  const page = await open({ url: `${own.url}/explain/${ID}` })
  await drawn(page)
  equal(await page.locator('.vertex').count(), 101, 'vertices')
  await shoot(page, 'explain-many')
})

test('a view that throws leaves the rail, says so, and another view works', async ({ open }) => {
  const own = await mock((path) => (path.startsWith('/api/v1/explain/') ? { status: 200, body: { delay_ns: 1, from: 'a', root: 'a', edges: [], vertices: [{ id: 'a', node: 1, count: null, delay_ns: 5, self_ns: 0, start_ns: 0, end_ns: 0, functional: true, tuple: 'x', type: 'DRV', origin: { no: 'text' } }] } } : null))
  const page = await open({ url: `${own.url}/explain/${ID}?view=table`, expectFailures: true })
  await page.getByRole('alert').getByText('This view failed.').waitFor()
  check(await page.getByRole('navigation', { name: 'Views' }).isVisible(), 'the rail is gone')
  await checkAxe(page, 'a view that failed')
  await page.getByRole('link', { name: 'Status' }).click()
  await page.getByRole('region', { name: 'Store' }).waitFor()
})

test('explain in light and dark, wide and narrow, without serious axe findings', async ({ open }) => {
  await everyLookInPlace(open, `${server.url}/explain/${ID}?sel=${REWRITE}&baseline=true`, 'explain', drawn)
  const page = await open({ url: `${server.url}/explain/${ID}?view=table`, viewport: PHONE, theme: 'dark' })
  await page.locator('.explain-table').waitFor()
  await checkAxe(page, 'the table on a phone')
  const wide = await page.evaluate(() => document.documentElement.scrollWidth)
  check(wide <= PHONE.width, `the table makes the page ${wide} px wide`)
})

await run()
