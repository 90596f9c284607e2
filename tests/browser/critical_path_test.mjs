// Where the time went: the sentence, the band on the bars, the path's own view, places and what-if; and the paths of
// many requests.
// needs: wherefore
// timeout: 200
import { readFile } from 'node:fs/promises'
import { api, canvasData, check, checkAxe, equal, eventually, everyLookInPlace, run, settled, shoot, startServer, test } from './harness.mjs'
import { checkout, hour, huge, random } from './scenario.mjs'

const server = await startServer()
const now = BigInt(Date.now()) * 1_000_000n
const ID = 'c0ffee00'.repeat(4)
const MANY = 'abcdef00'.repeat(4)
await server.feed([...hour(5, now, 20), huge(random(9), now - 200_000_000_000n, 4000, MANY), checkout(random(3), now - 60_000_000_123n, { slow: true, traceId: ID })])
const url = (rest = '') => `${server.url}/trace/${ID}${rest}`
const param = (page, name) => new URL(page.url()).searchParams.get(name)
const path = await api(server, `/api/v1/critical-path/${ID}`)
const w = await api(server, `/api/v1/trace/${ID}?view=waterfall`)
const idOf = (name) => w.blocks.span_id[w.blocks.name.findIndex((n) => w.strings[n] === name)]
// From the text, because JSON.parse would round Unix nanoseconds.
const exact = await (await fetch(`${server.url}/api/v1/critical-path/${ID}`)).text()
const whole = Number(BigInt(/"end_ns":(\d+)/.exec(exact)[1]) - BigInt(/"start_ns":(\d+)/.exec(exact)[1]))
const loaded = async (page) => {
  await page.locator('.path-answer button').first().waitFor()
  await settled(page)
}
const rowOf = (page, name) => page.locator('.segments-scroll [role=row]', { hasText: name })

test('the answer says where the time went, and leads to it', async ({ open }) => {
  const page = await open({ url: url() })
  await loaded(page)
  const scan = path.segments.filter((s) => s.name === 'scan').reduce((sum, s) => sum + s.end_ns - s.start_ns, 0)
  const text = await page.locator('.path-answer').innerText()
  const took = `${(whole / 1e9).toFixed(2).replace(/\.?0+$/, '')} s`
  check(text.startsWith(`${Math.round((scan / whole) * 100)} % of the ${took}: storage scan (own work)`), text)
  await page.locator('.path-answer button').first().click()
  await eventually(() => param(page, 'span') === idOf('scan'), 'the answer does not select its span')
  await page.locator('.panel').getByText('of the path').waitFor()
  check((await page.locator('.panel').innerText()).includes('own work'), 'the panel does not say what is on the path')
})

test('the waterfall shows the path on its bars, and P hides it', async ({ open }) => {
  const page = await open({ url: url() })
  await loaded(page)
  // Own work is drawn in its verdict's colour, which no service has.
  const painted = () => page.evaluate(() => {
    const canvas = document.querySelector('.wf-canvas')
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
    let n = 0
    for (let i = 0; i < data.length; i += 4) if (data[i] === 0x0f && data[i + 1] === 0x7b && data[i + 2] === 0x6c) n++
    return n
  })
  await page.mouse.move(2, 2)
  await eventually(async () => (await painted()) > 200, 'no path on the bars')
  await page.keyboard.press('p')
  await eventually(() => param(page, 'path') === 'off', 'P is not kept in the URL')
  await eventually(async () => (await painted()) === 0, 'P does not take the path away')
  await page.keyboard.press('3')
  await eventually(() => param(page, 'view') === 'path', 'key 3')
})

test('the view lists every segment in order; a click selects its span; CSV has them exactly', async ({ open }) => {
  const page = await open({ url: url('?view=path') })
  await loaded(page)
  const table = page.getByRole('table', { name: 'Segments of the critical path' })
  await table.waitFor()
  equal(await table.getAttribute('aria-rowcount'), String(path.segments.length + 1), 'rows')
  const names = await page.locator('.segments-scroll [role=row] .s-step').allInnerTexts()
  equal(names.join('|'), path.segments.map((s) => `${s.service} ${s.name}`).join('|'), 'the steps')
  check((await rowOf(page, 'GET compute/price').first().innerText()).includes('network'), 'a client’s own time is not labelled network')
  await rowOf(page, 'scan').getByRole('button').click()
  await eventually(() => param(page, 'span') === idOf('scan'), 'a clicked segment does not select its span')
  const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'CSV' }).click()])
  const csv = (await readFile(await file.path(), 'utf8')).trim().split('\r\n').slice(1)
  equal(csv.length, path.segments.length, 'lines of CSV')
  equal(csv.reduce((sum, line) => sum + Number(line.split(',')[1]), 0), whole, 'the durations add up to the whole')
})

test('path from here and to here, by key and in a deep link', async ({ open }) => {
  const page = await open({ url: url(`?span=${idOf('lock wait')}`) })
  await loaded(page)
  await page.keyboard.press('[')
  await eventually(async () => (await page.locator('.path-answer').innerText()).includes('between lock wait’s start and the end'), 'the answer does not say from where')
  await page.getByRole('button', { name: 'Path to here' }).click()
  await eventually(() => param(page, 'from') && param(page, 'to'), 'places in the URL')
  await page.keyboard.press('3')
  const table = page.getByRole('table', { name: 'Segments of the critical path' })
  const wanted = await api(server, `/api/v1/critical-path/${ID}?from=${param(page, 'from')}&to=${param(page, 'to')}`)
  await eventually(async () => (await table.getAttribute('aria-rowcount')) === String(wanted.segments.length + 1), 'the path between the places')
  await settled(page)
  await page.mouse.move(2, 2)
  const again = await open({ url: page.url() })
  await loaded(again)
  await again.getByRole('table', { name: 'Segments of the critical path' }).waitFor()
  await settled(again)
  equal(await again.locator('.path-view').innerText(), await page.locator('.path-view').innerText(), 'the view')
  check((await canvasData(again, '.path-strip canvas')) === (await canvasData(page, '.path-strip canvas')), 'the strip is drawn differently')
  await again.getByRole('button', { name: 'Clear the start of the path' }).click()
  await eventually(() => param(again, 'from') === null, 'a place cannot be taken away')
})

test('no path between two places: an error with a way back', async ({ open }) => {
  const page = await open({ url: url(`?view=path&from=${idOf('scan')}&to=${idOf('render cart')}`), expectFailures: true })
  await page.locator('.path-view').getByRole('alert').waitFor()
  await checkAxe(page, 'no path')
  await page.getByRole('button', { name: 'Show the whole request' }).click()
  await page.getByRole('table', { name: 'Segments of the critical path' }).waitFor()
  equal(param(page, 'from'), null, 'from')
})

test('what if: checked while typing, answered in a sentence, kept in the URL', async ({ open }) => {
  const page = await open({ url: url('?view=path') })
  await loaded(page)
  const box = page.getByLabel('What if')
  await box.fill('storage twice as fast')
  await page.getByText('write SELECTOR=FACTORx').waitFor()
  equal(await page.getByRole('button', { name: 'Run' }).isDisabled(), true, 'a bad change can be asked')
  await box.fill('operation/scan=0.5x')
  await page.keyboard.press('Enter')
  const answer = (await api(server, `/api/v1/critical-path/${ID}?what_if=operation/scan%3D0.5x`)).what_if
  check(answer.duration_ns < whole, 'the server does not answer')
  await eventually(async () => (await page.locator('.what-if-answer').innerText()).includes('would take'), 'no answer')
  const shown = await page.locator('.what-if-answer strong').getAttribute('title')
  equal(shown, `${answer.duration_ns.toLocaleString('en-US')} ns`, 'the new duration')
  equal(param(page, 'what_if'), 'operation/scan=0.5x', 'the URL')
  await page.getByRole('button', { name: 'Remove operation/scan=0.5x' }).click()
  await eventually(() => param(page, 'what_if') === null, 'a change cannot be taken away')
})

test('thousands of segments: only the rows in view exist', async ({ open }) => {
  const page = await open({ url: `${server.url}/trace/${MANY}?view=path` })
  await loaded(page)
  const segments = (await api(server, `/api/v1/critical-path/${MANY}`)).segments
  check(segments.length > 60, `only ${segments.length} segments`)
  equal(await page.getByRole('table', { name: 'Segments of the critical path' }).getAttribute('aria-rowcount'), String(segments.length + 1), 'rows')
  check((await page.locator('.segments-scroll [role=row]').count()) < 60, 'all rows exist')
  await page.locator('.segments-scroll').evaluate((box) => (box.scrollTop = 1e7))
  const last = segments.at(-1)
  await eventually(async () => (await page.locator('.segments-scroll [role=row]').last().innerText()).includes(last.name), 'the last segment cannot be reached')
})

test('paths of many requests: shares, drill-down to the longest, and the same filter in search', async ({ open }) => {
  const page = await open({ url: `${server.url}/critical-path?service=frontend` })
  const all = await api(server, '/api/v1/critical-path?service=frontend&since=1h')
  await page.getByRole('table', { name: 'Components of the critical paths' }).waitFor()
  const top = all.components[0]
  const text = await page.locator('h1').innerText()
  check(text.includes(`${Math.round(top.share * 100)} % of the time of ${all.traces} requests`) && text.includes(`${top.service} ${top.name}`), text)
  equal(await page.locator('.components-scroll [role=row]').first().locator('a').last().getAttribute('href'), `/trace/${top.max_trace_id}?view=path`, 'the longest')
  await page.locator('.answer a').last().click()
  await page.waitForURL(/\/search\?service=frontend$/)
  await page.getByRole('link', { name: 'Where did the time go?' }).click()
  await page.waitForURL(/\/critical-path\?service=frontend$/)
  await page.locator('.components-scroll [role=row]').first().locator('a').last().click()
  await page.getByRole('table', { name: 'Segments of the critical path' }).waitFor()
})

test('no requests: says so, and offers a way on', async ({ open }) => {
  const page = await open({ url: `${server.url}/critical-path?service=nobody` })
  await page.getByText('No requests to explain.').waitFor()
  await checkAxe(page, 'no paths')
  await shoot(page, 'paths-empty')
  await page.locator('.state').getByRole('button', { name: 'Clear filter' }).click()
  await page.getByRole('table', { name: 'Components of the critical paths' }).waitFor()
})

test('critical path in light and dark, wide and narrow, without serious axe findings', ({ open }) =>
  everyLookInPlace(open, url('?view=path&what_if=operation/scan=0.5x'), 'critical-path', async (page) => {
    await loaded(page)
    await page.locator('.what-if-answer').waitFor()
  }))

test('paths of many in light and dark, wide and narrow, without serious axe findings', ({ open }) =>
  everyLookInPlace(open, `${server.url}/critical-path?since=all`, 'paths', async (page) => {
    await page.locator('.components-scroll [role=row]').first().waitFor()
    await settled(page)
  }))

await run()
