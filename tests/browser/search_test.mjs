// Search: the answer sentence, the filter bar, the scatter plot, the table, and what they leave in the URL.
// needs: wherefore
// timeout: 300
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { api, canvasData, check, checkAxe, equal, eventually, everyLook, run, settled, startServer, test } from './harness.mjs'
import { hour } from './scenario.mjs'

const server = await startServer()
const TRACES = 620
await server.feed(hour(11, BigInt(Date.now()) * 1_000_000n, TRACES))
const search = (query = '') => `${server.url}/search${query}`
const loaded = (page) => page.locator('.traces-scroll .traces-row').first().waitFor()
const shownDuration = (ns) => (ns >= 1e9 ? `${(ns / 1e9).toFixed(2).replace(/\.?0+$/, '')} s` : null)

test('the first thing is the answer: how many, and the slowest', async ({ open }) => {
  const page = await open({ url: search('?service=maintenance') })
  await loaded(page)
  const { traces, next } = await api(server, '/api/v1/traces?service=maintenance&since=1h&limit=500')
  equal(next, null, 'maintenance fits one page')
  const slowest = traces.reduce((a, b) => (b.duration_ns > a.duration_ns ? b : a))
  const sentence = await page.locator('h1').innerText()
  check(sentence.startsWith(`${traces.length} traces in the last hour; slowest `), sentence)
  check(sentence.endsWith(`: ${slowest.service} ${slowest.name}`), sentence)
  equal(await page.locator('h1 a').getAttribute('href'), `/trace/${slowest.trace_id}`, 'the link of the slowest')
})

test('a search larger than a page loads more by cursor until all are there', async ({ open }) => {
  const page = await open({ url: search('?since=all') })
  await loaded(page)
  check((await page.locator('h1').innerText()).startsWith('Newest 500 traces over all time; slowest '), await page.locator('h1').innerText())
  equal(await page.getByRole('table', { name: 'Traces' }).getAttribute('aria-rowcount'), '501', 'rows of the first page')
  check((await page.locator('.traces-scroll .traces-row').count()) < 60, 'the table is not virtualised')
  await page.locator('.traces-scroll').evaluate((box) => (box.scrollTop = 1e7))
  await page.getByRole('button', { name: 'Load 500 more' }).click()
  await eventually(async () => (await page.locator('h1').innerText()).startsWith(`${TRACES} traces over all time`), 'the second page never came')
  await page.locator('.traces-scroll').evaluate((box) => (box.scrollTop = 1e7))
  await page.getByText('No more traces.').waitFor()
})

test('the filter bar completes, turns green or red while typing, and writes the URL', async ({ open }) => {
  const page = await open({ url: search() })
  await loaded(page)
  const bar = page.getByRole('combobox', { name: 'Filter traces' })
  await bar.click()
  await bar.pressSequentially('main')
  await page.getByRole('option', { name: 'service:maintenance' }).waitFor()
  await eventually(async () => (await bar.getAttribute('aria-invalid')) === 'true', 'a bare word is not a filter')
  await page.locator('.filter-bad').waitFor()
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await eventually(async () => (await bar.inputValue()) === 'service:maintenance ', 'the completion')
  await page.locator('.filter-good').waitFor()
  await page.keyboard.type('min:soon')
  await eventually(async () => (await page.locator('.filter-reason').innerText()).includes('not a duration'), 'no reason for min:soon')
  for (let i = 0; i < 4; i++) await page.keyboard.press('Backspace')
  await page.keyboard.type('100ms')
  await page.keyboard.press('Enter')
  await eventually(() => new URL(page.url()).search === '?service=maintenance&min_duration=100ms', `the URL is ${page.url()}`)
  await loaded(page)
  const { traces } = await api(server, '/api/v1/traces?service=maintenance&min_duration=100ms&since=1h&limit=500')
  await eventually(async () => (await page.locator('h1').innerText()).startsWith(`${traces.length} trace`), 'the filtered answer')
})

test('attributes complete by key and value', async ({ open }) => {
  const page = await open({ url: search() })
  await loaded(page)
  const bar = page.getByRole('combobox', { name: 'Filter traces' })
  await bar.click()
  await bar.pressSequentially('user')
  await page.getByRole('option', { name: 'user.id=' }).click()
  await page.getByRole('option', { name: /^user\.id=\d+/ }).first().click()
  const chosen = (await bar.inputValue()).trim()
  await page.keyboard.press('Enter')
  await eventually(() => new URL(page.url()).searchParams.get('attr') === chosen, `attr is not ${chosen}`)
  await loaded(page)
})

test('columns sort, and the order is in the URL', async ({ open }) => {
  const page = await open({ url: search() })
  await loaded(page)
  await page.getByRole('button', { name: 'Duration' }).click()
  await eventually(() => new URL(page.url()).searchParams.get('sort') === '-duration', 'sort is not in the URL')
  const { traces } = await api(server, '/api/v1/traces?since=1h&limit=500')
  const slowest = traces.reduce((a, b) => (b.duration_ns > a.duration_ns ? b : a))
  equal(await page.locator('[data-row="0"]').getAttribute('href'), `/trace/${slowest.trace_id}`, 'the first row')
  const text = shownDuration(slowest.duration_ns)
  if (text) equal(await page.locator('.traces-scroll .traces-row .c-duration').first().innerText(), text, 'its duration')
})

test('dragging over the plot selects a region; a fresh browser shows the same screen', async ({ open }) => {
  const page = await open({ url: search() })
  await loaded(page)
  await settled(page)
  const box = await page.locator('.chart-box').boundingBox()
  await page.mouse.move(box.x + box.width * 0.35, box.y + 15)
  await page.mouse.down()
  await page.mouse.move(box.x + box.width * 0.9, box.y + box.height * 0.5, { steps: 6 })
  await page.mouse.up()
  await page.getByRole('button', { name: 'Clear selection' }).waitFor()
  const sel = /^(\d+)-(\d+),(\d+)-(\d+)$/.exec(new URL(page.url()).searchParams.get('sel')).slice(1).map(Number)
  const { traces } = await api(server, '/api/v1/traces?since=1h&limit=500')
  const expected = traces.filter((t) => t.start_ns >= sel[0] && t.start_ns <= sel[1] && t.duration_ns >= sel[2] && t.duration_ns <= sel[3]).length
  check(expected > 0 && expected < traces.length, `a useless region: ${expected} of ${traces.length}`)
  check((await page.locator('h1').innerText()).startsWith(`${expected} trace`), `${await page.locator('h1').innerText()} but ${expected} lie in the region`)
  const again = await open({ url: page.url() })
  await loaded(again)
  equal(await again.locator('h1').innerText(), await page.locator('h1').innerText(), 'the sentence in a fresh context')
  equal(await again.locator('.traces').innerText(), await page.locator('.traces').innerText(), 'the table in a fresh context')
  await page.getByRole('button', { name: 'Clear selection' }).click()
  await eventually(async () => !(await page.locator('h1').innerText()).includes('selected'), 'the selection stays')
})

test('hovering a mark names the trace, clicking opens it', async ({ open }) => {
  const page = await open({ url: search('?service=maintenance') })
  await loaded(page)
  await settled(page)
  const box = await page.locator('.chart-box').boundingBox()
  let found = false
  for (let y = box.y + 15; y < box.y + box.height - 25 && !found; y += 12) {
    for (let x = box.x + 80; x < box.x + box.width - 20 && !found; x += 12) {
      await page.mouse.move(x, y)
      if (await page.locator('.chart-box .tip').count()) found = true
    }
  }
  check(found, 'no mark answers to the pointer')
  check((await page.locator('.chart-box .tip').innerText()).includes('maintenance'), 'the tip does not name the service')
  await page.mouse.down()
  await page.mouse.up()
  await page.waitForURL(/\/trace\/[0-9a-f]{32}/)
})

test('the axis can be linear, and says so in the URL', async ({ open }) => {
  const page = await open({ url: search() })
  await loaded(page)
  await settled(page)
  const before = await canvasData(page, '.chart-box canvas')
  await page.getByRole('button', { name: 'linear' }).click()
  await settled(page)
  equal(new URL(page.url()).searchParams.get('axis'), 'linear', 'axis')
  check((await canvasData(page, '.chart-box canvas')) !== before, 'the plot did not change')
})

test('the chart exports CSV with exact nanoseconds, and PNG', async ({ open }) => {
  const page = await open({ url: search('?service=maintenance') })
  await loaded(page)
  const [csv] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'CSV' }).click()])
  const lines = (await readFile(await csv.path(), 'utf8')).trim().split('\r\n')
  const raw = await (await fetch(`${server.url}/api/v1/traces?service=maintenance&since=1h&limit=500`)).text()
  const starts = [...raw.matchAll(/"start_ns":\s*(\d+)/g)].map((m) => m[1])
  equal(lines.length, starts.length + 1, 'lines of the CSV')
  for (const start of starts) check(lines.some((line) => line.includes(`,${start},`)), `start_ns ${start} is not in the CSV`)
  const [png] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Save chart as PNG' }).click()])
  equal((await readFile(await png.path())).subarray(1, 4).toString(), 'PNG', 'the file')
})

test('keyboard only: filter, walk the table, open a trace', async ({ open }) => {
  const page = await open({ url: search() })
  await loaded(page)
  for (let i = 0; i < 30; i++) {
    await page.keyboard.press('Tab')
    if (await page.evaluate(() => document.activeElement?.getAttribute('aria-label') === 'Filter traces')) break
  }
  await page.keyboard.type('service:maintenance')
  await page.keyboard.press('Escape')
  await page.keyboard.press('Enter')
  await page.waitForURL(/service=maintenance/)
  await loaded(page)
  for (let i = 0; i < 30; i++) {
    await page.keyboard.press('Tab')
    if (await page.evaluate(() => document.activeElement?.hasAttribute('data-row'))) break
  }
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowDown')
  await eventually(() => page.evaluate(() => document.activeElement?.getAttribute('data-row') === '2'), 'arrows do not move the row')
  const href = await page.evaluate(() => document.activeElement.getAttribute('href'))
  await page.keyboard.press('Enter')
  await page.waitForURL(`${server.url}${href}`)
  await page.locator('.trace h1').waitFor()
})

test('time range: presets and a custom one', async ({ open }) => {
  const page = await open({ url: search() })
  await loaded(page)
  await page.getByRole('button', { name: 'last 15 minutes' }).click()
  await page.waitForURL(/since=15m/)
  const few = (await api(server, '/api/v1/traces?since=15m&limit=500')).traces.length
  await eventually(async () => Math.abs(parseInt(await page.locator('h1').innerText()) - few) <= 2, `about ${few} traces expected`)
  await page.getByRole('button', { name: 'custom' }).click()
  await page.getByRole('button', { name: 'Apply' }).click()
  await page.waitForURL(/since=.*until=/)
  await eventually(async () => (await page.locator('h1').innerText()).includes('between '), 'the sentence does not name the custom range')
})

test('nothing found: says how to fill it', async ({ open }) => {
  const page = await open({ url: search('?service=nobody') })
  await page.getByText('Nothing matches this filter.').waitFor()
  await checkAxe(page, 'search without results')
  await page.locator('.state').getByRole('button', { name: 'Clear filter' }).click()
  await loaded(page)
})

test('the commands that an empty server shows fill it', async ({ open }) => {
  const empty = await startServer()
  check(empty.real, 'the mock cannot be filled')
  const folder = await mkdtemp(join(tmpdir(), 'wherefore-fill-'))
  try {
    const page = await open({ url: `${empty.url}/search` })
    await page.getByText('Nothing was received in this time range.').waitFor()
    const commands = page.locator('.state-empty .command code')
    const [exporter, curl, scenario] = [commands.nth(0), commands.nth(1), commands.nth(2)]
    const shell = (text) => promisify(execFile)('bash', ['-c', text], { cwd: folder, env: { PATH: `${dirname(empty.binary)}:${process.env.PATH}`, HOME: folder } })
    const { stdout } = await shell(`${await exporter.innerText()}; echo -n "$OTEL_EXPORTER_OTLP_ENDPOINT $OTEL_EXPORTER_OTLP_PROTOCOL"`)
    equal(stdout, `${new URL(empty.otlpUrl).origin} http/protobuf`, 'the exporter variables')
    const texts = [await curl.innerText(), await scenario.innerText()]
    await shell(texts[0])
    await page.reload()
    await page.locator('.traces-scroll .traces-row', { hasText: 'GET /hello' }).waitFor()
    await shell(texts[1])
    await page.goto(`${empty.url}/search?since=all`)
    await eventually(async () => (await page.locator('h1').innerText()).startsWith('301 traces over all time'), 'the scenario is not there', 20_000)
  } finally {
    await empty.stop()
    await rm(folder, { recursive: true, force: true })
  }
})

test('search in light and dark, wide and narrow, without serious axe findings', ({ open }) =>
  everyLook(open, search(), 'search', async (page) => {
    await loaded(page)
    await settled(page)
  }))

await run()
