// Compare: which columns differ most between two populations, and their function calls.
// parallel: yes
import { api, atEnd, check, checkAxe, equal, eventually, everyLook, run, settled, shoot, startServer, test } from './harness.mjs'
import { datasetMock } from './mock_datasets.mjs'
import { startMock } from './mock_server.mjs'
import { fillPages, PAGES } from './population.mjs'

const server = await startServer(['--tailer', 'off'])
const now = BigInt(Date.now()) * 1_000_000n
await fillPages(server, now)
const SIDES = { dataset: 'pages', a: 'version = "1.2"', b: 'version = "1.3"', metric: 'latency_ns' }
const at = (query) => `${server.url}/compare?${new URLSearchParams(query)}`
const answered = async (page) => {
  await page.getByRole('region', { name: 'What differs' }).waitFor()
  await settled(page)
}

test('the first line says which column differs most, with its change and q', async ({ open }) => {
  const page = await open({ url: at(SIDES) })
  await answered(page)
  const said = await page.locator('h1').innerText()
  check(/^css_bytes differs most: \+[\d.]+ kB, q < 0\.001$/.test(said), said)
  const below = await page.locator('.answer p').innerText()
  check(/latency_ns is higher in B: \+\d+ ms, \+\d/.test(below) && below.includes('120 rows in A, 120 in B'), below)
  const wanted = (await api(server, `/api/v1/dataset/compare/pages?${new URLSearchParams({ a: SIDES.a, b: SIDES.b, metric: 'latency_ns' })}`)).columns
  const table = page.getByRole('region', { name: 'Differences' })
  equal(await table.locator('tbody tr').count(), wanted.length, 'significant differences')
  check((await table.locator('tbody tr').first().innerText()).startsWith(wanted[0].column), 'the first row')
  check((await page.locator('.chart-foot code').innerText()).includes('wherefore dataset compare pages --a'), 'no command')
  await page.getByRole('link', { name: 'css_bytes', exact: true }).click()
  await page.waitForURL(/\/datasets\/pages\?.*metric=css_bytes/)
  await page.goBack()
  await answered(page)
})

test('before and after a time', async ({ open }) => {
  const page = await open({ url: at({ dataset: 'pages' }) })
  await page.getByText('Which two populations?').waitFor()
  await checkAxe(page, 'compare without populations')
  await page.getByRole('button', { name: 'Before and after…' }).click()
  await page.getByRole('button', { name: 'Compare', exact: true }).click()
  await answered(page)
  const query = new URL(page.url()).searchParams
  check(/^time_ns < \d{19}$/.test(query.get('a')) && /^time_ns >= \d{19}$/.test(query.get('b')), page.url())
  // The middle of the time is within seconds of the change, which every version after it has.
  check(/^the share of version = 1\.[23] differs most: [+−]\d+ points, q < 0\.001$/.test(await page.locator('h1').innerText()), await page.locator('h1').innerText())
  const css = await page.getByRole('row', { name: /^css_bytes/ }).innerText()
  check(/\+[\d.]+ kB/.test(css) && css.includes('< 0.001'), css)
})

test('a selection against the rest', async ({ open }) => {
  const page = await open({ url: at({ ...SIDES, a: 'rest' }) })
  await answered(page)
  check((await page.locator('.answer p').innerText()).includes(`${PAGES / 2} rows in A, ${PAGES / 2} in B`), await page.locator('.answer p').innerText())
  check((await page.locator('h1').innerText()).startsWith('css_bytes differs most'), await page.locator('h1').innerText())
})

test('without a difference it says so; a population without rows too', async ({ open }) => {
  const page = await open({ url: at({ ...SIDES, a: 'version = "1.2" and browser = "firefox"', b: 'version = "1.2" and browser = "chromium"' }) })
  await answered(page)
  equal(await page.locator('h1').innerText(), 'No significant difference between A and B', 'the answer')
  await page.getByRole('button', { name: /more without a significant difference/ }).click()
  await page.getByRole('link', { name: 'css_bytes', exact: true }).waitFor()
  const none = await open({ url: at({ ...SIDES, b: 'version = "9"' }) })
  await none.getByText('B has no rows, so there is nothing to compare').waitFor()
})

test('typing the populations compares them, and the URL alone gives the same screen', async ({ open }) => {
  const page = await open({ url: at({ dataset: 'pages' }) })
  await page.getByRole('combobox', { name: 'Population A' }).fill('version = "1.2"')
  await page.keyboard.press('Enter')
  await page.getByRole('combobox', { name: 'Population B' }).fill('version = "1.3"')
  await page.keyboard.press('Enter')
  await answered(page)
  const said = await page.locator('h1').innerText()
  const other = await open({ url: page.url() })
  await answered(other)
  equal(await other.locator('h1').innerText(), said, 'the answer in a fresh context')
})

test('function calls of two populations as a differential flame graph', async ({ open }) => {
  const page = await open({ url: at({ dataset: 'samples', a: SIDES.a, b: SIDES.b, show: 'flame' }) })
  await page.locator('.plot canvas').waitFor()
  await settled(page)
  const said = await page.locator('h1').innerText()
  check(/^parse_css changed most: \+\d+ % own time$/.test(said), said)
  const first = await page.getByRole('table', { name: 'Functions by change in own time' }).getByRole('row').nth(1).innerText()
  check(first.startsWith('parse_css') && first.includes('+'), first)
  const box = await page.locator('.plot canvas').boundingBox()
  await page.mouse.click(box.x + 40, box.y + 34)
  await page.getByRole('link', { name: /^Traces of B through main/ }).waitFor()
  await shoot(page, 'compare-flame-zoomed')
  await page.getByRole('link', { name: /^Traces of B through main/ }).click()
  await page.waitForURL(/\/datasets\/samples/)
  await page.getByRole('link', { name: /…$/ }).first().waitFor()
  await page.goBack()
  await page.getByRole('button', { name: 'Show all' }).click()
  await eventually(() => !page.url().includes('zoom'), 'still zoomed')
})

test('a dataset without stacks says how to get them', async ({ open }) => {
  const page = await open({ url: at({ ...SIDES, show: 'flame' }) })
  await page.getByText('pages has no column of stack traces.').waitFor()
  await checkAxe(page, 'no stacks')
})

test('compare in light and dark, wide and narrow, without serious axe findings', ({ open }) => everyLook(open, at(SIDES), 'compare', answered))
test('the flame graph in light and dark, wide and narrow, without serious axe findings', ({ open }) =>
  everyLook(open, at({ dataset: 'samples', a: SIDES.a, b: SIDES.b, show: 'flame' }), 'compare-flame', async (page) => {
    await page.locator('.plot canvas').waitFor()
    await settled(page)
  }))

test('loading and failing; huge flame graphs', async ({ open }) => {
  const answers = datasetMock()
  let failing = true
  const mock = await startMock({ behave: (path, url) => (failing && path.includes('/compare/') ? { delayMs: 900, status: 503, body: { error: { code: 'overloaded', message: 'The store is behind by 3 batches.', hint: 'Ask again in a moment.' } } } : answers(path, url)) })
  atEnd(mock.close)
  const page = await open({ url: `${mock.url}/compare?${new URLSearchParams({ dataset: 'pages', a: 'version = "1"', b: 'rest' })}`, expectFailures: true })
  await page.locator('.skeleton').waitFor()
  await shoot(page, 'compare-loading')
  await page.getByRole('alert').waitFor()
  await checkAxe(page, 'a comparison that failed')
  failing = false
  await page.getByRole('button', { name: 'Try again' }).click()
  await answered(page)
  equal(await page.locator('h1').innerText(), 'No significant difference between A and B', 'after trying again')
  const huge = await open({ url: `${mock.url}/compare?${new URLSearchParams({ dataset: 'huge', a: 'version = "1"', b: 'version = "2"', show: 'flame' })}` })
  await huge.locator('.plot canvas').waitFor()
  await settled(huge)
  await shoot(huge, 'compare-huge-flame')
})

await run()
