// What spans cannot carry: units and their groups, phase markers, stack samples three ways, and the inspector's
// property groups. The trace comes as an events file.
// needs: wherefore
// timeout: 200
import { api, canvasData, check, checkAxe, equal, eventually, everyLookInPlace, run, settled, shoot, startServer, test } from './harness.mjs'
import { pageLoad } from './event_scenario.mjs'
import { checkout, random } from './scenario.mjs'

const server = await startServer()
const now = BigInt(Date.now()) * 1_000_000n
const ID = 'fa9e0000'.repeat(4)
const MANY = 'fa9e1111'.repeat(4)
const PLAIN = 'c0ffee00'.repeat(4)
await server.importText('page.jsonl', pageLoad(ID, now - 90_000_000_000n))
await server.importText('many.jsonl', pageLoad(MANY, now - 80_000_000_000n, { samples: 10_000 }))
await server.feed([checkout(random(3), now - 60_000_000_000n, { traceId: PLAIN })])
const url = (rest = '') => `${server.url}/trace/${ID}${rest}`
const param = (page, name) => new URL(page.url()).searchParams.get(name)
const w = await api(server, `/api/v1/trace/${ID}?view=waterfall`)
const idOf = (name) => w.blocks.span_id[w.blocks.name.findIndex((n) => w.strings[n] === name)]
const loaded = async (page) => {
  await page.locator('.trace h1').waitFor()
  await page.locator('.path-answer button').first().waitFor()
  await settled(page)
}
const chart = (page) => page.locator('.flame-scroll').first()
const flameLoaded = async (page) => {
  await loaded(page)
  await chart(page).waitFor()
  await settled(page)
}

test('phases are labelled lines that lead to their span', async ({ open }) => {
  const page = await open({ url: url() })
  await loaded(page)
  const phases = page.getByRole('list', { name: 'Phases' })
  for (const name of ['response_start', 'dom_interactive', 'display_done']) await phases.getByRole('button', { name }).waitFor()
  await phases.getByRole('button', { name: 'display_done' }).click()
  await eventually(() => param(page, 'span') === idOf('render'), 'the span of the phase')
  const lines = await page.evaluate(() => {
    const canvas = document.querySelector('.wf-canvas')
    // The lowest rows of pixels are below all bars: what is dark there is a phase’s line.
    const { data } = canvas.getContext('2d').getImageData(0, canvas.height - 20, canvas.width, 20)
    const columns = new Set()
    for (let i = 0; i < data.length; i += 4) if (data[i] < 60 && data[i + 1] < 60 && data[i + 2] < 60) columns.add((i / 4) % canvas.width)
    return columns.size
  })
  equal(lines, 3, 'lines through the waterfall')
})

test('rows grouped by unit, service or thread: headings, folding, keyboard, deep link', async ({ open }) => {
  const page = await open({ url: url() })
  await loaded(page)
  const grid = page.getByRole('treegrid')
  const spans = w.blocks.span_id.length
  await page.getByLabel('Group rows by').selectOption('unit')
  await eventually(async () => (await grid.getAttribute('aria-rowcount')) === String(spans + w.units.id.length), 'one heading per unit')
  check((await page.locator('.sr-only [role=row]').first().textContent()).includes('Client · browser · laptop thread 1, 3 spans'), await page.locator('.sr-only [role=row]').first().textContent())
  // J skips the heading.
  await grid.focus()
  await page.keyboard.press('j')
  await eventually(() => param(page, 'span') === idOf('page'), 'the first row that is a span')
  const box = await page.locator('.wf-scroll').boundingBox()
  await page.mouse.click(box.x + 60, box.y + 12)
  await eventually(async () => (await grid.getAttribute('aria-rowcount')) === String(spans + w.units.id.length - 3), 'a click on the heading does not fold the unit')
  check(param(page, 'shut'), 'the folded unit is not in the URL')
  await page.mouse.move(2, 2)
  await settled(page)
  const again = await open({ url: page.url() })
  await loaded(again)
  await again.locator('.panel .kv').first().waitFor()
  await settled(again)
  check((await canvasData(again, '.wf-canvas')) === (await canvasData(page, '.wf-canvas')), 'a fresh browser draws it differently')
  await page.getByRole('treegrid').focus()
  await page.keyboard.press('g')
  await eventually(() => param(page, 'group') === 'service', 'G goes on to services')
  await eventually(async () => (await grid.getAttribute('aria-rowcount')) === String(spans + 2), 'one heading per service')
})

test('time order, left heavy and sandwich by 1, 2 and 3 while the chart has the focus', async ({ open }) => {
  const page = await open({ url: url('?view=flame') })
  await flameLoaded(page)
  const answer = await page.locator('.flame-answer').innerText()
  check(answer.includes('60 % of the 100 ms sampled: parse_css (own time)'), answer)
  check(answer.includes('100 samples, usually 1 ms apart'), answer)
  const pictures = [await canvasData(page, '.flame-scroll canvas')]
  await page.keyboard.press('2')
  await eventually(() => param(page, 'flame') === 'heavy', 'key 2')
  await eventually(() => param(page, 'view') === 'flame', 'key 2 is the chart’s own')
  await settled(page)
  pictures.push(await canvasData(page, '.flame-scroll canvas'))
  check(pictures[0] !== pictures[1], 'left heavy is drawn as time order')
  await chart(page).focus()
  await page.keyboard.press('3')
  const table = page.getByRole('table', { name: 'Functions by own time' })
  await table.waitFor()
  const first = await table.locator('[role=row]').nth(1).innerText()
  check(first.includes('parse_css') && first.includes('60 %'), first)
  await table.getByRole('button', { name: 'layout' }).click()
  await eventually(() => param(page, 'frame') === 'layout', 'the function in the URL')
  await page.getByRole('heading', { name: 'Callers of layout' }).waitFor()
  // layout has two callers, of 15 and 10 samples: the keyboard walks them.
  await chart(page).focus()
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowDown')
  const caller = await page.locator('.sandwich-charts [role=status]').first().textContent()
  check(/^(render, 15 ms, 60 %|resize, 10 ms, 40 %)$/.test(caller), caller)
  await checkAxe(page, 'sandwich')
  await shoot(page, 'flame-sandwich')
})

test('the flame chart zooms, selects, finds and survives a deep link', async ({ open }) => {
  const page = await open({ url: url('?view=flame') })
  await flameLoaded(page)
  await chart(page).focus()
  await page.keyboard.press('w')
  await eventually(() => /^\d+-\d+$/.test(param(page, 'ft') ?? ''), 'W does not zoom')
  await page.keyboard.press('0')
  await eventually(() => param(page, 'ft') === null, '0 does not reset')
  const box = await chart(page).boundingBox()
  await page.mouse.click(box.x + box.width * 0.3, box.y + 20 * 3 + 10)
  await eventually(() => param(page, 'frame') === 'parse_css', 'the clicked frame')
  await page.mouse.dblclick(box.x + box.width * 0.3, box.y + 20 * 3 + 10)
  await eventually(() => param(page, 'ft'), 'a double click does not zoom to the frame')
  const [from, to] = param(page, 'ft').split('-').map(Number)
  equal(Math.round((to - from) / 1e6), 60, 'ms of the frame')
  await page.mouse.move(2, 2)
  await settled(page)
  const again = await open({ url: page.url() })
  await flameLoaded(again)
  check((await canvasData(again, '.flame-scroll canvas')) === (await canvasData(page, '.flame-scroll canvas')), 'a fresh browser draws it differently')
})

test('10,000 samples are drawn within a frame or two', async ({ open }) => {
  const page = await open({ url: `${server.url}/trace/${MANY}?view=flame` })
  await flameLoaded(page)
  check((await page.locator('.flame-answer').innerText()).includes('10,000 samples'), 'not all samples')
  const p90 = await page.evaluate(async () => {
    const box = document.querySelector('.flame-scroll')
    const { left, top, width } = box.getBoundingClientRect()
    const times = []
    let before = await new Promise(requestAnimationFrame)
    for (let i = 0; i < 60; i++) {
      box.dispatchEvent(new WheelEvent('wheel', { bubbles: true, cancelable: true, ctrlKey: true, deltaY: i < 30 ? -40 : 40, clientX: left + width * 0.6, clientY: top + 10 }))
      const at = await new Promise(requestAnimationFrame)
      times.push(at - before)
      before = at
    }
    return times.sort((a, b) => a - b)[54]
  })
  console.log(`# 10,000 samples zoomed: p90 ${p90.toFixed(1)} ms`)
  check(p90 <= 100, `p90 of a zoomed frame is ${p90} ms`)
})

test('without samples the chart says how to get some; a failure says what failed', async ({ open }) => {
  const page = await open({ url: `${server.url}/trace/${PLAIN}?view=flame` })
  await page.getByText('No stack samples in this trace.').waitFor()
  await checkAxe(page, 'no samples')
  const broken = await open({ url: url(), expectFailures: true })
  await loaded(broken)
  await broken.route('**/api/v1/trace/*view=stacks*', (route) => route.fulfill({ status: 503, contentType: 'application/json', body: '{"error":{"code":"overloaded","message":"The store is behind.","hint":"Ask again."}}' }))
  await broken.getByRole('button', { name: 'Flame' }).click()
  await broken.locator('.flame').getByRole('alert').getByText('The store is behind.').waitFor()
  await broken.unroute('**/api/v1/trace/*view=stacks*')
  await broken.getByRole('button', { name: 'Try again' }).click()
  await chart(broken).waitFor()
})

test('property groups: chosen once, on top for every span, kept', async ({ open }) => {
  const page = await open({ url: url(`?span=${idOf('page')}`) })
  await loaded(page)
  await page.getByRole('button', { name: 'Add a property group' }).click()
  const dialog = page.getByRole('dialog', { name: 'New property group' })
  await dialog.getByLabel('Name', { exact: true }).fill('Page')
  await dialog.getByLabel('Find a property').fill('url')
  await dialog.getByRole('checkbox', { name: 'label:url' }).check()
  await dialog.getByLabel('Find a property').fill('')
  await dialog.getByRole('checkbox', { name: 'counter:bytes' }).check()
  await checkAxe(page, 'property group editor')
  await dialog.getByRole('button', { name: 'Save' }).click()
  const group = page.getByRole('region', { name: 'Properties: Page' })
  await group.waitFor()
  equal((await group.locator('tr').allInnerTexts()).map((t) => t.replace(/\s+/g, ' ').trim()).join('; '), 'label:url /home; counter:bytes (B) 20480', 'the group')
  await page.reload()
  await group.waitFor()
  // Everybody sees them, and nobody undoes another's change without knowing it.
  const other = await open({ url: url(`?span=${idOf('page')}`), expectFailures: true })
  await other.getByRole('region', { name: 'Properties: Page' }).waitFor()
  await other.getByRole('button', { name: 'Edit Page' }).click()
  const saved = await api(server, '/api/v1/property-groups')
  equal(saved.groups.map((g) => `${g.name}: ${g.keys.join()}`).join(), 'Page: label:url,counter:bytes (B)', 'what the server keeps')
  await fetch(`${server.url}/api/v1/property-groups`, { method: 'PUT', body: JSON.stringify({ groups: [{ name: 'Page', keys: ['label:url'] }, { name: 'Theirs', keys: ['label:url'] }] }) })
  await other.getByRole('dialog').getByLabel('Name', { exact: true }).fill('My page')
  await other.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
  await other.getByRole('alert').getByText('Somebody else').waitFor()
  await other.getByRole('region', { name: 'Properties: Theirs' }).waitFor()
  await other.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
  await other.getByRole('region', { name: 'Properties: My page' }).waitFor()
  equal((await api(server, '/api/v1/property-groups')).groups.map((g) => g.name).join(), 'My page,Theirs', 'after saving again')
  await fetch(`${server.url}/api/v1/property-groups`, { method: 'PUT', body: JSON.stringify({ groups: [{ name: 'Page', keys: ['label:url'] }] }) })
  await page.reload()
  await group.waitFor()
  await group.getByRole('button', { name: 'Edit Page' }).click()
  await page.getByRole('button', { name: 'Delete the group' }).click()
  await eventually(async () => (await group.count()) === 0, 'the group cannot be deleted')
})

test('property groups that a browser kept by itself are shared once', async ({ open }) => {
  const page = await open({ url: `${server.url}/status` })
  await page.evaluate(() => localStorage.setItem('wherefore.property-groups', JSON.stringify([{ name: 'Mine', keys: ['label:url'] }, { broken: true }])))
  await page.goto(url(`?span=${idOf('page')}`))
  await page.getByRole('region', { name: 'Properties: Mine' }).waitFor()
  await eventually(async () => (await api(server, '/api/v1/property-groups')).groups.map((g) => g.name).join() === 'Mine', 'it is not shared')
  await eventually(() => page.evaluate(() => localStorage.getItem('wherefore.property-groups') === null), 'it is kept twice')
  await fetch(`${server.url}/api/v1/property-groups`, { method: 'PUT', body: '{"groups":[]}' })
})

test('units and phases in light and dark, wide and narrow, without serious axe findings', ({ open }) =>
  everyLookInPlace(open, url('?group=unit'), 'units', loaded))

test('flame chart in light and dark, wide and narrow, without serious axe findings', ({ open }) =>
  everyLookInPlace(open, url('?view=flame&frame=layout'), 'flame', flameLoaded))

await run()
