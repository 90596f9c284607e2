// Two single traces side by side: what differs, ranked; reached from a trace and from the search.
// needs: wherefore
// timeout: 120
import { api, check, checkAxe, equal, eventually, everyLookInPlace, run, settled, startServer, test } from './harness.mjs'
import { checkout, hour, random } from './scenario.mjs'

const server = await startServer()
const now = BigInt(Date.now()) * 1_000_000n
const FAST = 'aaaa0000'.repeat(4)
const SLOW = 'bbbb0000'.repeat(4)
await server.feed([
  ...hour(5, now, 8),
  checkout(random(3), now - 60_000_000_000n, { traceId: FAST }),
  checkout(random(4), now - 50_000_000_000n, { slow: true, failing: true, traceId: SLOW }),
])
const url = `${server.url}/compare?a=${FAST}&b=${SLOW}`
const [a, b] = await Promise.all([FAST, SLOW].map((id) => api(server, `/api/v1/trace/${id}?view=waterfall`)))
const own = (w, name) => w.blocks.own.reduce((sum, v, i) => (w.strings[w.blocks.name[i]] === name ? sum + v : sum), 0)
const loaded = async (page) => {
  await page.locator('.two-traces .components-scroll [role=row]').first().waitFor()
  await settled(page)
}
const firstRow = (page) => page.locator('.components-scroll [role=row]').first()

test('the answer says how much longer and where; the table is ranked by it', async ({ open }) => {
  const page = await open({ url })
  await loaded(page)
  check(/^B took .+ longer than A \(/.test(await page.locator('h1').innerText()), await page.locator('h1').innerText())
  const difference = own(b, 'scan') - own(a, 'scan')
  const row = await firstRow(page).innerText()
  check(row.includes('storage scan'), row)
  equal(await firstRow(page).locator('[role=cell]').nth(3).getAttribute('title'), `${difference.toLocaleString('en-US')} ns`, 'the difference of the first row')
  check((await page.locator('.answer p').innerText()).includes('storage scan'), await page.locator('.answer p').innerText())
  const all = await page.locator('.components-scroll .two-row').evaluateAll((rows) => rows.map((r) => Math.abs(Number(r.children[3].title.replace(/[^\d]/g, '')))))
  check(all.every((v, i) => i === 0 || v <= all[i - 1]), `not ranked: ${all}`)
  const charge = page.locator('.two-row', { hasText: 'charge card' })
  equal((await charge.locator('[role=cell]').allInnerTexts()).slice(-2).join(' '), '0 1', 'spans of what only B has')
  await firstRow(page).locator('a').last().click()
  await page.waitForURL(new RegExp(`/trace/${SLOW}\\?span=`))
})

test('from a trace: Compare with… an id or a recent trace', async ({ open }) => {
  const page = await open({ url: `${server.url}/trace/${FAST}` })
  await page.locator('.path-answer button').first().waitFor()
  await page.getByRole('button', { name: 'Compare with…' }).click()
  const dialog = page.getByRole('dialog', { name: 'Compare with' })
  await checkAxe(page, 'compare with')
  await dialog.getByLabel('Id of the other trace').fill(SLOW)
  await page.keyboard.press('Enter')
  await page.waitForURL(url)
  await loaded(page)
  await page.getByRole('button', { name: 'Swap A and B' }).click()
  await eventually(async () => / less than A/.test(await page.locator('h1').innerText()), 'A and B are not swapped')
})

test('from the search: select two', async ({ open }) => {
  const page = await open({ url: `${server.url}/search` })
  const row = (id) => page.locator('.traces-row', { has: page.locator(`a[href="/trace/${id}"]`) })
  await row(FAST).getByRole('checkbox').check()
  await page.getByText('select another').waitFor()
  // By keyboard: X selects the focused row.
  await row(SLOW).getByRole('link').focus()
  await page.keyboard.press('x')
  await checkAxe(page, 'two selected')
  await page.getByRole('link', { name: 'Compare the two selected traces' }).click()
  await page.waitForURL(url)
  await loaded(page)
})

test('without ids the page asks for them; an unknown one is named', async ({ open }) => {
  const page = await open({ url: `${server.url}/compare/traces`, expectFailures: true })
  await page.getByLabel('Id of trace A').fill(FAST)
  await page.getByLabel('Id of trace B').fill('xyz')
  equal(await page.getByLabel('Id of trace B').getAttribute('aria-invalid'), 'true', 'aria-invalid')
  await checkAxe(page, 'choose two traces')
  await page.getByLabel('Id of trace B').fill('1')
  await page.getByRole('button', { name: 'Compare' }).click()
  await page.getByRole('alert').waitFor()
  await page.getByRole('button', { name: 'Choose another trace' }).click()
  await page.getByLabel('Id of trace A').waitFor()
})

test('compare in light and dark, wide and narrow, without serious axe findings', ({ open }) => everyLookInPlace(open, url, 'compare', loaded))

await run()
