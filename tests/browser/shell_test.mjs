// Around the views: upload, status, palette, themes, the first load's weight and speed.
// needs: wherefore
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { api, check, checkAxe, equal, eventually, everyLook, PHONE, ROOT, run, settled, shoot, startServer, test } from './harness.mjs'
import { checkout, hour, otlp, random } from './scenario.mjs'

const server = await startServer()
const now = BigInt(Date.now()) * 1_000_000n
const traces = hour(21, now, 40)
await server.feed(traces)
const uploaded = checkout(random(77), now - 40_000_000_000n, { traceId: 'dead0000'.repeat(4) })
const file = { name: 'shop.json', mimeType: 'application/json', buffer: Buffer.from(JSON.stringify(otlp(uploaded))) }
const rubbish = { name: 'holiday.jpg', mimeType: 'image/jpeg', buffer: Buffer.from('\xff\xd8 no') }

const drop = (page, name, text) =>
  page.evaluate(([fileName, content]) => {
    const data = new DataTransfer()
    data.items.add(new File([content], fileName))
    window.dispatchEvent(new DragEvent('dragenter', { dataTransfer: data }))
    return new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(() => {
      const shown = document.querySelector('.drop') !== null
      window.dispatchEvent(new DragEvent('drop', { dataTransfer: data, cancelable: true }))
      r(shown)
    })))
  }, [name, text])

test('dropping a file imports it and links to its traces', async ({ open }) => {
  const page = await open({ url: `${server.url}/search` })
  await page.locator('h1').waitFor()
  check(await drop(page, file.name, file.buffer.toString()), 'no drop target is shown')
  const dialog = page.getByRole('dialog', { name: 'Import' })
  await dialog.getByText(/spans? in 1 trace/).waitFor()
  await checkAxe(page, 'import')
  await shoot(page, 'import')
  const link = dialog.locator('.job-traces a').first()
  const id = await link.innerText()
  if (server.real) equal(id, uploaded[0].traceId, 'the imported trace')
  await link.click()
  await page.waitForURL(new RegExp(`/trace/${id}`))
  await page.locator('.trace h1').waitFor()
})

test('the upload button takes files; a bad one is named with a hint', async ({ open }) => {
  const page = await open({ url: `${server.url}/search`, expectFailures: true })
  await page.locator('h1').waitFor()
  const [chooser] = await Promise.all([page.waitForEvent('filechooser'), page.getByRole('button', { name: 'Upload' }).click()])
  await chooser.setFiles([file, rubbish])
  const dialog = page.getByRole('dialog', { name: 'Import' })
  await dialog.getByRole('alert').waitFor()
  check((await dialog.innerText()).includes('holiday.jpg'), await dialog.innerText())
  await dialog.getByText(/spans? in \d+ trace/).waitFor()
  await page.keyboard.press('Escape')
  await eventually(async () => (await dialog.count()) === 0, 'Escape does not close the dialog')
})

test('status shows the store, the listeners and refreshes by itself', async ({ open }) => {
  const page = await open({ url: `${server.url}/status` })
  await page.getByRole('region', { name: 'Store' }).waitFor()
  const before = await api(server, '/api/v1/status')
  check(/[\d,]+ spans in [\d,]+ traces, .* on disk/.test(await page.locator('.answer p').innerText()), await page.locator('.answer p').innerText())
  check((await page.getByRole('region', { name: 'Listeners' }).innerText()).includes(before.listeners[0].address), 'no listener')
  const more = hour(99, now, 5)
  await server.feed(more)
  const spans = before.store.spans + more.flat().length
  await eventually(async () => (await page.getByRole('region', { name: 'Store' }).innerText()).includes(spans.toLocaleString('en-US')), `${spans} spans never show`, 15_000)
})

test('status shows what the tailer did, delayed and skipped', async ({ open }) => {
  const page = await open({ url: `${server.url}/status` })
  const card = page.getByRole('region', { name: 'Tailer' })
  await card.waitFor()
  const status = await api(server, '/api/v1/status')
  const { tailer } = status
  const text = await card.innerText()
  for (const name of ['traces over budget', 'rows skipped', 'from the cache', 'waiting in the delayed queue', ...Object.keys(tailer.delayed).map((r) => `delayed: ${r.replace(/_/g, ' ')}`), ...tailer.stages.map((s) => s.name)]) check(text.includes(name), `${name} is not in ${text}`)
  await page.route('**/api/v1/status', (route) => route.fulfill({ json: { ...status, tailer: { ...tailer, features: { over_budget: 7, rows_dropped: 1234 } } } }))
  await eventually(async () => /traces over budget\s+7\b/.test(await card.innerText()) && /rows skipped\s+1,234/.test(await card.innerText()), 'what was skipped never shows', 15_000)
})

test('Ctrl+K goes to a service, a view and a trace id', async ({ open }) => {
  const page = await open({ url: `${server.url}/status` })
  await page.locator('h1').waitFor()
  await page.keyboard.press('Control+k')
  await page.getByRole('dialog', { name: 'Go to' }).waitFor()
  await page.keyboard.type('stora')
  await page.getByRole('option', { name: 'storage service' }).waitFor()
  await checkAxe(page, 'palette')
  await shoot(page, 'palette')
  await page.keyboard.press('Enter')
  await page.waitForURL(/\/search\?service=storage/)
  await page.keyboard.press('Control+k')
  await page.keyboard.type(traces[0][0].traceId)
  await page.keyboard.press('Enter')
  await page.waitForURL(`${server.url}/trace/${traces[0][0].traceId}`)
  await page.keyboard.press('Control+k')
  await page.keyboard.type('status')
  await page.keyboard.press('Enter')
  await page.waitForURL(/\/status/)
})

test('the theme can be switched, and the choice stays', async ({ open }) => {
  const page = await open({ url: `${server.url}/search` })
  const theme = () => page.evaluate(() => document.documentElement.dataset.theme)
  equal(await theme(), 'light', 'the system’s theme')
  await page.getByRole('button', { name: 'Dark' }).click()
  equal(await theme(), 'dark', 'after the switch')
  await page.reload()
  equal(await theme(), 'dark', 'after a reload')
})

test('the trace page without a trace takes an id and remembers', async ({ open }) => {
  const page = await open({ url: `${server.url}/trace` })
  await page.getByLabel('Trace id').fill('xyz')
  equal(await page.getByLabel('Trace id').getAttribute('aria-invalid'), 'true', 'aria-invalid')
  await page.getByLabel('Trace id').fill(traces[1][0].traceId)
  await page.keyboard.press('Enter')
  await page.locator('.trace h1').waitFor()
  await page.goBack()
  await page.locator('.recent a').first().waitFor()
  await checkAxe(page, 'trace home')
  await page.locator('.recent a').first().click()
  await page.waitForURL(`${server.url}/trace/${traces[1][0].traceId}`)
})

test('back and forward move through the views', async ({ open }) => {
  const page = await open({ url: `${server.url}/search?service=frontend` })
  await page.locator('.traces-scroll .traces-row').first().waitFor()
  await page.locator('[data-row="0"]').click()
  await page.locator('.trace h1').waitFor()
  await page.goBack()
  await page.locator('.traces-scroll .traces-row').first().waitFor()
  equal(await page.getByRole('combobox', { name: 'Filter traces' }).inputValue(), 'service:frontend', 'the filter after Back')
})

test('an unknown path says so and links to the search', async ({ open }) => {
  const page = await open({ url: `${server.url}/nowhere`, expectFailures: true })
  await page.getByText('Page not found.').waitFor()
  await checkAxe(page, 'unknown page')
})

test('a phone can search, open a trace, select a span and zoom', async ({ open }) => {
  const page = await open({ url: `${server.url}/search`, viewport: PHONE })
  await page.locator('[data-row="0"]').click()
  await page.locator('.trace h1').waitFor()
  await settled(page)
  const box = await page.locator('.wf-scroll').boundingBox()
  check(box.height >= 200, `the waterfall is only ${box.height} px high`)
  await page.mouse.click(box.x + 60, box.y + 12)
  await page.locator('.panel .kv').first().waitFor()
  await page.getByRole('button', { name: 'Zoom in' }).click()
  await eventually(() => new URL(page.url()).searchParams.get('t'), 'the zoom button does nothing')
})

test('the first load is at most 350 kB compressed, and useful within 1 s', async ({ open }) => {
  const dist = join(ROOT, 'ui/dist')
  const files = ['index.html', 'favicon.svg', ...(await readdir(join(dist, 'assets'))).map((f) => `assets/${f}`)]
  let total = 0
  for (const name of files) total += gzipSync(await readFile(join(dist, name))).length
  console.log(`# all of the UI: ${(total / 1000).toFixed(1)} kB compressed`)
  check(total <= 350_000, `${total} bytes`)
  // The best of three: other work on the machine can only add time.
  const paints = []
  for (let i = 0; i < 3; i++) {
    const page = await open({
      url: `${server.url}/search`,
      init: () => {
        const look = () => (document.querySelector('.traces-row a') ? (window.usefulMs = performance.now()) : requestAnimationFrame(look))
        requestAnimationFrame(look)
      },
    })
    await eventually(() => page.evaluate(() => window.usefulMs), 'no trace is ever shown')
    paints.push(await page.evaluate(() => window.usefulMs))
  }
  console.log(`# useful after ${paints.map((t) => Math.round(t)).join(', ')} ms`)
  check(Math.min(...paints) <= 1000, `useful after ${paints} ms`)
})

test('no inline script, style or data in what is served', async () => {
  const html = await (await fetch(`${server.url}/search`)).text()
  check(!/<style|style=|<script>|onload=/.test(html), html)
  for (const [, path] of html.matchAll(/(?:src|href)="([^"]+)"/g)) check((await fetch(server.url + path)).ok, `${path} is not served`)
})

test('status in light and dark, wide and narrow, without serious axe findings', ({ open }) =>
  everyLook(open, `${server.url}/status`, 'status', async (page) => {
    await page.getByRole('region', { name: 'Store' }).waitFor()
  }))

await run()
