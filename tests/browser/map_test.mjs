// Map: services as boxes, calls as arrows, from the standing dataset of calls.
// parallel: yes
import { api, atEnd, check, checkAxe, equal, everyLook, run, settled, shoot, startServer, test } from './harness.mjs'
import { startMock } from './mock_server.mjs'
import { backfill } from './population.mjs'
import { hour } from './scenario.mjs'

const server = await startServer(['--tailer', 'off'])
let calls = null
const filled = () =>
  (calls ??= (async () => {
    await server.feed(hour(7, BigInt(Date.now()) * 1_000_000n, 120))
    await backfill(server, 'calls')
  })())
const drawn = async (page) => {
  await page.locator('.plot canvas').waitFor()
  await settled(page)
}

test('without calls it says how to get them', async ({ open }) => {
  const page = await open({ url: `${server.url}/map`, expectFailures: true })
  await page.getByText('No calls to draw.').waitFor()
  check((await page.locator('.state').innerText()).includes('backfill'), await page.locator('.state').innerText())
  await checkAxe(page, 'an empty map')
  await shoot(page, 'map-empty')
})

test('the map names services and calls; its table has the API’s numbers', async ({ open }) => {
  await filled()
  const page = await open({ url: `${server.url}/map` })
  await drawn(page)
  const said = await page.locator('h1').innerText()
  check(/^\d services, \d kinds of calls; highest error rate .* %, outside → frontend$/.test(said), said)
  const rows = (await api(server, `/api/v1/dataset/query/calls?${new URLSearchParams({ group_by: 'caller,service', agg: 'count' })}`)).rows
  const table = page.getByRole('table', { name: 'Calls between services' })
  equal(Number(await table.getAttribute('aria-rowcount')), rows.length + 1, 'kinds of calls')
  const cells = (await table.getByRole('row').nth(1).innerText()).split(/\s+/).filter(Boolean)
  check(cells.includes(String(rows[0].count)), `${cells} lacks ${rows[0].count}`)
})

test('an arrow leads to its calls and to its traces, and back', async ({ open }) => {
  await filled()
  const page = await open({ url: `${server.url}/map` })
  await drawn(page)
  await page.getByRole('button', { name: 'Rows behind caller = "compute" and service = "storage"' }).click()
  await page.getByRole('link', { name: 'Its calls' }).waitFor()
  await shoot(page, 'map-chosen')
  await page.getByRole('link', { name: 'Its traces' }).click()
  const behind = page.getByRole('table', { name: 'Rows behind this point' })
  await behind.getByRole('link').first().click()
  await page.waitForURL(/\/trace\//)
  await page.goBack()
  await page.goBack()
  await page.getByRole('link', { name: 'Its calls' }).click()
  await page.waitForURL(/\/datasets\/calls\?where=caller/)
  await drawn(page)
})

test('keyboard alone: arrows move between services and calls, Enter selects one', async ({ open }) => {
  await filled()
  const page = await open({ url: `${server.url}/map` })
  await drawn(page)
  await page.locator('.plot-scroll').focus()
  await page.keyboard.press('ArrowRight')
  await page.keyboard.press('ArrowRight')
  await page.keyboard.press('Enter')
  await page.getByRole('link', { name: 'Its traces' }).waitFor()
})

test('the map in light and dark, wide and narrow, without serious axe findings', async ({ open }) => {
  await filled()
  await everyLook(open, `${server.url}/map`, 'map', drawn)
})

test('loading, failing and huge: 300 services in cycles', async ({ open }) => {
  const state = { delayMs: 700, status: 503, body: { error: { code: 'overloaded', message: 'The store is behind by 3 batches.', hint: 'Ask again.' } } }
  const columns = ['caller', 'service', 'count', 'sum(error)', 'p50(duration_ns)', 'p95(duration_ns)'].map((name, i) => ({ name, type: i < 2 ? 'text' : 'int' }))
  const row = (caller, service, i) => ({ caller, service, count: 10 + i, 'sum(error)': i % 9 === 0 ? 1 : 0, 'p50(duration_ns)': 1_000_000 * (1 + (i % 40)), 'p95(duration_ns)': 5_000_000 * (1 + (i % 40)) })
  const rows = [row(null, 's0', 0)]
  for (let i = 1; i < 300; i++) rows.push(row(`s${Math.floor((i - 1) / 3)}`, `s${i}`, i), row(`s${i}`, `s${(i * 7) % 300}`, i))
  const mock = await startMock({
    behave: (path) => (path.includes('/dataset/query/') ? state : path.endsWith('/dataset/list') ? { status: 200, body: { datasets: [] } } : null),
  })
  atEnd(mock.close)
  const page = await open({ url: `${mock.url}/map`, expectFailures: true })
  await page.locator('.skeleton').waitFor()
  await page.getByRole('alert').waitFor()
  await checkAxe(page, 'a map that failed')
  Object.assign(state, { delayMs: 0, status: 200, body: { columns, rows } })
  await page.getByRole('button', { name: 'Try again' }).click()
  await drawn(page)
  check((await page.locator('h1').innerText()).startsWith('300 services, 599 kinds of calls'), await page.locator('h1').innerText())
  await shoot(page, 'map-huge')
})

await run()
