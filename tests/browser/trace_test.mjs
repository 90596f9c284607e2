// The trace view: the answer, the waterfall by mouse and keyboard, the facts of a span, deep links, completeness.
// needs: wherefore
// timeout: 300
import { readFile } from 'node:fs/promises'
import { api, canvasData, check, checkAxe, equal, eventually, everyLook, run, settled, shoot, startServer, test } from './harness.mjs'
import { broken, checkout, hour, random } from './scenario.mjs'

const server = await startServer()
const now = BigInt(Date.now()) * 1_000_000n
const ID = 'c0ffee00'.repeat(4)
const BROKEN = 'badc0de0'.repeat(4)
const spans = checkout(random(3), now - 60_000_000_123n, { slow: true, failing: true, traceId: ID })
await server.feed([...hour(5, now, 20), broken(random(4), now - 50_000_000_000n, BROKEN), spans])
const url = (rest = '') => `${server.url}/trace/${ID}${rest}`
const param = (page, name) => new URL(page.url()).searchParams.get(name)
const loaded = async (page) => {
  await page.locator('.trace h1').waitFor()
  await settled(page)
}
const w = await api(server, `/api/v1/trace/${ID}?view=waterfall`)
const nameOf = (i) => w.strings[w.blocks.name[i]]
const indexOf = (name) => w.blocks.name.findIndex((_, i) => nameOf(i) === name)
const selectedName = (page) => page.locator('.panel-head h2 .thin').innerText()

test('the header says what it was, how long it took and where the time went', async ({ open }) => {
  const page = await open({ url: url() })
  await loaded(page)
  const took = `${(w.blocks.duration[0] / 1e9).toFixed(2).replace(/\.?0+$/, '')} s`
  equal(await page.locator('h1').innerText(), `frontend POST /checkout took ${took}`, 'the headline')
  const most = w.blocks.own.reduce((m, v, i) => (v > w.blocks.own[m] ? i : m), 0)
  const line = await page.locator('.facts-line').innerText()
  check(line.includes(`Most own time: storage ${nameOf(most)}`), line)
  check(line.includes(`${spans.length} spans in 4 services`), line)
  check(line.includes('2 errors'), line)
  equal(nameOf(most), 'scan', 'the slow part of the scenario')
})

test('a span shows typed attributes, exact nanoseconds, events, process and scope', async ({ open }) => {
  const page = await open({ url: url(`?span=${spans[0].spanId}`) })
  await loaded(page)
  const panel = page.locator('.panel')
  await panel.getByText('session.id').waitFor()
  check(await panel.locator('.value-number', { hasText: /^9007199254740993$/ }).count(), 'a 64-bit attribute is rounded')
  check(await panel.locator('.value-bool', { hasText: 'false' }).count(), 'no boolean')
  check(await panel.locator('.value-number', { hasText: '0.25' }).count(), 'no float')
  check(await panel.getByText('payment declined by upstream').count(), 'no status message')
  check(await panel.getByText('cart validated').count(), 'no event')
  check(await panel.getByText('frontend-1').count(), 'no host')
  const exact = spans[0].startNs.toString()
  check(await panel.locator(`td[title$="${exact} ns"]`).count(), `no title with ${exact} ns`)
  check((await page.locator('.panel').innerText()).includes('shop'), 'no scope')
})

test('keyboard: move, fold, zoom, find, switch clocks, help', async ({ open }) => {
  const page = await open({ url: url() })
  await loaded(page)
  await page.keyboard.press('j')
  equal(param(page, 'span'), w.blocks.span_id[0], 'j selects the first span')
  await page.keyboard.press('j')
  await page.keyboard.press('ArrowDown')
  equal(param(page, 'span'), w.blocks.span_id[2], 'three down')
  await page.keyboard.press('k')
  equal(param(page, 'span'), w.blocks.span_id[1], 'one up')

  const grid = page.getByRole('treegrid')
  await page.keyboard.press('Home')
  await page.keyboard.press('Enter')
  await eventually(async () => (await grid.getAttribute('aria-rowcount')) === '1', 'Enter does not fold the root')
  equal(param(page, 'fold'), w.blocks.span_id[0], 'fold in the URL')
  await page.keyboard.press('Enter')
  await eventually(async () => (await grid.getAttribute('aria-rowcount')) === String(spans.length), 'Enter does not unfold')

  await page.keyboard.press('w')
  await eventually(() => /^-?\d+-\d+$/.test(param(page, 't') ?? ''), 'W leaves no range in the URL')
  const zoomed = param(page, 't').split(/(?<=\d)-/).map(Number)
  check(zoomed[1] - zoomed[0] < w.blocks.duration[0], 'W does not zoom in')
  await page.keyboard.press('d')
  await eventually(() => Number(param(page, 't')?.split(/(?<=\d)-/)[0]) > zoomed[0], 'D does not move right')
  await page.keyboard.press('0')
  await eventually(() => param(page, 't') === null, '0 does not reset')

  await page.keyboard.press('/')
  await page.keyboard.type('storage')
  const matches = w.blocks.name.filter((_, i) => nameOf(i).includes('storage') || w.strings[w.blocks.service[i]].includes('storage')).length
  await eventually(async () => (await page.locator('.find [role=status]').innerText()).endsWith(`/${matches}`), 'the match count')
  await page.keyboard.press('Escape')
  await page.keyboard.press('/')
  await page.keyboard.type('scan')
  await page.keyboard.press('Enter')
  equal(param(page, 'span'), w.blocks.span_id[indexOf('scan')], 'Enter goes to the match')
  await page.getByRole('treegrid').focus()
  await page.keyboard.press('e')
  check(w.blocks.status[w.blocks.span_id.indexOf(param(page, 'span'))] === 2, 'E does not go to an error')
  await page.keyboard.press('m')
  equal(await selectedName(page), 'scan', 'M selects the most own time')
  await page.keyboard.press('c')
  equal(param(page, 'clock'), 'raw', 'C switches the clock')
  await page.keyboard.press('?')
  await page.getByRole('dialog', { name: 'Keyboard' }).waitFor()
  await page.keyboard.press('Escape')
  await eventually(async () => (await page.getByRole('dialog').count()) === 0, 'Escape does not close the help')
  await page.keyboard.press('Escape')
  await eventually(() => param(page, 'span') === null, 'Escape does not clear the selection')
})

test('mouse: click selects, the triangle folds, drag pans, Ctrl+wheel zooms', async ({ open }) => {
  const page = await open({ url: url() })
  await loaded(page)
  const box = await page.locator('.wf-scroll').boundingBox()
  await page.mouse.click(box.x + box.width * 0.6, box.y + 24 * 2 + 12)
  equal(param(page, 'span'), w.blocks.span_id[2], 'the clicked row')
  await page.keyboard.press('Escape')
  await page.mouse.click(box.x + 8 + 6, box.y + 12)
  await eventually(async () => (await page.getByRole('treegrid').getAttribute('aria-rowcount')) === '1', 'the triangle does not fold')
  await page.mouse.click(box.x + 8 + 6, box.y + 12)
  await page.keyboard.down('Control')
  await page.mouse.move(box.x + box.width * 0.7, box.y + 60)
  await page.mouse.wheel(0, -400)
  await page.keyboard.up('Control')
  await eventually(() => param(page, 't'), 'Ctrl+wheel does not zoom')
  const before = Number(param(page, 't').split(/(?<=\d)-/)[0])
  await page.mouse.move(box.x + box.width * 0.6, box.y + 100)
  await page.mouse.down()
  await page.mouse.move(box.x + box.width * 0.8, box.y + 100, { steps: 5 })
  await page.mouse.up()
  await eventually(() => Number(param(page, 't').split(/(?<=\d)-/)[0]) < before, 'dragging right does not move to earlier times')
  equal(param(page, 'span'), null, 'a drag is not a click')
  await page.mouse.move(box.x + box.width * 0.6, box.y + 12)
  await page.locator('.wf-tip').waitFor()
  check((await page.locator('.wf-tip').innerText()).includes(`${w.blocks.duration[0].toLocaleString('en-US')} ns`), 'the tip has no exact duration')
})

test('a deep link shows the same screen in a fresh browser', async ({ open }) => {
  const page = await open({ url: url() })
  await loaded(page)
  await page.keyboard.press('m')
  await page.keyboard.press('w')
  await page.keyboard.press('w')
  await page.keyboard.press('c')
  await page.keyboard.press('/')
  await page.keyboard.type('price')
  await page.keyboard.press('Tab')
  await eventually(() => param(page, 't') && param(page, 'find') === 'price' && param(page, 'clock') === 'raw', `not all in the URL: ${page.url()}`)
  await page.mouse.move(2, 2)
  await page.waitForTimeout(400)
  await settled(page)
  const again = await open({ url: page.url() })
  await loaded(again)
  await again.locator('.panel .kv').first().waitFor()
  // The path comes after the waterfall, and is drawn into it.
  for (const p of [page, again]) await p.locator('.path-answer button').first().waitFor()
  await settled(again)
  await settled(page)
  equal(again.url(), page.url(), 'the URL')
  equal(await again.locator('.panel').innerText(), await page.locator('.panel').innerText(), 'the panel')
  check((await canvasData(again, '.wf-canvas')) === (await canvasData(page, '.wf-canvas')), 'the waterfall is drawn differently')
})

test('non-tree edges are drawn for the selection', async ({ open }) => {
  check(w.edges.type.length > 0, 'the scenario has no one-way edge')
  const worker = w.edges.to_block[0]
  const page = await open({ url: url() })
  await loaded(page)
  await page.mouse.move(2, 2)
  const accent = () => page.evaluate(() => {
    const canvas = document.querySelector('.wf-canvas')
    const { data } = canvas.getContext('2d').getImageData(Math.floor(canvas.width * 0.4), 0, Math.floor(canvas.width * 0.6), canvas.height)
    let n = 0
    for (let i = 0; i < data.length; i += 4) if (data[i] === 33 && data[i + 1] === 86 && data[i + 2] === 207) n++
    return n
  })
  equal(await accent(), 0, 'accent pixels without a selection')
  const x = await page.locator('.wf-scroll').boundingBox()
  await page.mouse.click(x.x + 100, x.y + worker * 24 + 12)
  await page.mouse.move(2, 2)
  await settled(page)
  check((await accent()) > 10, 'no edge is drawn')
  await shoot(page, 'trace-edges')
})

test('the completeness banner says what is missing and lists the repairs', async ({ open }) => {
  const page = await open({ url: `${server.url}/trace/${BROKEN}` })
  await loaded(page)
  check((await page.locator('h1').innerText()).endsWith('; its root is missing, first seen: frontend render'), await page.locator('h1').innerText())
  const banner = page.getByRole('region', { name: 'Completeness' })
  check((await banner.innerText()).includes('incomplete: 1 parent span'), await banner.innerText())
  await banner.getByRole('button', { name: 'Details' }).click()
  check((await banner.innerText()).includes('missing_parent'), 'no repairs listed')
  await banner.getByRole('button', { name: 'feedfacefeedface' }).click()
  equal(param(page, 'span'), 'feedfacefeedface', 'the place that is missing')
  check((await page.locator('.panel').innerText()).includes('never arrived'), 'the stand-in does not say what it is')
  await checkAxe(page, 'incomplete trace')
  await shoot(page, 'trace-incomplete')
})

test('the table view sums own time by operation', async ({ open }) => {
  const page = await open({ url: url('?view=table') })
  await loaded(page)
  equal(await page.locator('.grid tbody tr').first().locator('td').nth(1).innerText(), 'scan', 'the first row')
  await checkAxe(page, 'trace table')
  await page.getByRole('treegrid').count()
  await page.keyboard.press('1')
  await page.getByRole('treegrid').waitFor()
})

test('JSON download is the API’s answer', async ({ open }) => {
  const page = await open({ url: url() })
  await loaded(page)
  const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'JSON' }).click()])
  equal(file.suggestedFilename(), `trace-${ID}.json`, 'the name')
  equal(await readFile(await file.path(), 'utf8'), await (await fetch(`${server.url}/api/v1/trace/${ID}`)).text(), 'the content')
})

test('an unknown trace: what failed and where to go', async ({ open }) => {
  const page = await open({ url: `${server.url}/trace/${'0'.repeat(31)}1`, expectFailures: true })
  await page.getByRole('alert').waitFor()
  check((await page.getByRole('alert').innerText()).includes('not_found'), 'no code')
  await checkAxe(page, 'unknown trace')
  await page.getByRole('link', { name: 'Search traces' }).click()
  await page.waitForURL(/\/search/)
})

test('an attribute and an operation lead to other traces like this one', async ({ open }) => {
  const page = await open({ url: url(`?span=${spans[0].spanId}`) })
  await loaded(page)
  const user = spans[0].attributes['user.id']
  // By keyboard: it shows on hover, and details that still arrive would move it away from under the mouse.
  await page.getByRole('link', { name: `Find traces with user.id=${user}` }).press('Enter')
  await page.waitForURL(/\/search\?since=all&attr=user\.id/)
  await page.locator(`a[href="/trace/${ID}"]`).first().waitFor()
  await page.goBack()
  await page.getByRole('link', { name: 'Other traces with this operation' }).press('Enter')
  await page.waitForURL(/service=frontend&operation=POST/)
  await page.locator(`a[href="/trace/${ID}"]`).first().waitFor()
})

test('the screen reader’s rows follow the selection', async ({ open }) => {
  const page = await open({ url: url() })
  await loaded(page)
  await page.keyboard.press('m')
  const grid = page.getByRole('treegrid')
  const active = await grid.getAttribute('aria-activedescendant')
  const row = page.locator(`#${active}`)
  check((await row.textContent()).includes('storage scan'), await row.textContent())
  equal(await row.getAttribute('aria-selected'), 'true', 'aria-selected')
})

test('trace in light and dark, wide and narrow, without serious axe findings', ({ open }) =>
  everyLook(open, url(`?span=${w.blocks.span_id[indexOf('scan')]}`), 'trace', async (page) => {
    await loaded(page)
    await page.locator('.panel .kv').first().waitFor()
    await settled(page)
  }))

await run()
