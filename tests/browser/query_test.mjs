// Queries: completion and errors at their place; on a running block store and on stored traces; charts, the pivot table and
// its totals, running queries and their cost, and from a group to traces.
// needs: wherefore
// timeout: 240
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { api, atEnd, check, checkAxe, DESKTOP, equal, eventually, everyLookInPlace, PHONE, ROOT, run, settled, shoot, startServer, test } from './harness.mjs'
import { checkout, random } from './scenario.mjs'

const binary = process.env.WHEREFORE ?? join(ROOT, 'build/release/wherefore')
const real = binary !== 'mock'
const [server, bare] = real ? await Promise.all([startServer(['--tailer', 'off']), startServer(['--tailer', 'off'])]) : []
const SLOW = 40_000 // a wait that only a machine in trouble needs

// The demo's block store with two slow clients.
function startBlocks() {
  const path = join(process.env.WHEREFORE_BUILD ?? dirname(binary), 'wherefore-blocks')
  check(existsSync(path), `${path} is not built`)
  const child = spawn(path, ['up', '--clients', 'FSread4m:1:60,Hget:1:30', '--files', '200', '--seconds', '200', '--endpoint', server.url], { stdio: 'ignore', detached: true })
  const over = new Promise((resolve) => child.once('exit', resolve))
  // It runs until its clients are done; the test ends its process group.
  let ended = false
  child.once('exit', () => (ended = true))
  const end = () => {
    if (!ended && child.pid > 1) process.kill(-child.pid, 'SIGKILL')
    ended = true
  }
  process.on('exit', end)
  atEnd(async () => {
    end()
    await over
  })
}

const shop = Array.from({ length: 24 }, (_, i) => checkout(random(i + 1), BigInt(Date.now() - 300_000 + i * 5000) * 1_000_000n))
if (real) {
  startBlocks()
  await server.feed(shop)
}

const Q = 'From incr In DataNodeMetrics.incrBytesRead\nJoin cl In First(ClientProtocols) On cl -> incr\nGroupBy cl.procName, incr.host\nSelect cl.procName, incr.host, SUM(incr.delta), COUNT'
const only = (name, body) => test(name, async (tools) => (real ? body(tools) : undefined))
const param = (page, name) => new URL(page.url()).searchParams.get(name)
const editor = (page) => page.getByRole('combobox', { name: 'Query' })
const h1 = (page) => page.locator('h1').innerText()
const withToken = (token) => `sessionStorage.setItem('wherefore.token', ${JSON.stringify(token)})`
const queries = async () => (await api(server, '/api/v1/queries')).queries
const known = () => eventually(async () => (await api(server, '/api/v1/tracepoints')).compiled_in.some((t) => t.name === 'DataNodeMetrics.incrBytesRead'), 'the block store does not report its tracepoints', SLOW)

// Exact cells and totals, from the tooltips.
const pivot = (page) => page.evaluate(() => {
  const number = (cell) => (cell.title === '' ? 0 : Number(cell.title))
  const table = document.querySelector('.pivot')
  const rows = [...table.tBodies[0].rows].map((r) => [...r.cells].slice(1).map(number))
  return { head: [...table.tHead.rows[0].cells].map((c) => c.textContent), names: [...table.tBodies[0].rows].map((r) => r.cells[0].textContent), rows, foot: [...table.tFoot.rows[0].cells].slice(1).map(number) }
})
const sum = (list) => list.reduce((a, b) => a + b, 0)
function checkMargins({ rows, foot }) {
  for (const row of rows) equal(row.at(-1), sum(row.slice(0, -1)), 'a row’s total')
  foot.slice(0, -1).forEach((total, i) => equal(total, sum(rows.map((r) => r[i])), 'a column’s total'))
  equal(foot.at(-1), sum(foot.slice(0, -1)), 'the grand total')
}

// All intervals of a query until it ends.
async function listen(id) {
  const intervals = []
  const answer = await fetch(`${server.url}/api/v1/queries/${id}/stream?after_ns=0`)
  const text = await answer.text()
  for (const block of text.split('\n\n')) if (/^event: interval$/m.test(block)) intervals.push(JSON.parse(/^data: (.*)$/m.exec(block)[1]))
  return intervals
}

only('typing completes tracepoints, exports and aliases; an error is shown at its place', async ({ open }) => {
  await known()
  const page = await open({ url: `${server.url}/query`, expectFailures: true })
  await page.getByText('Example queries').waitFor()
  equal(await h1(page), 'Query the running system', 'the empty view')
  const list = page.getByRole('listbox', { name: 'Completions' })
  const completeTo = async (typed, wanted) => {
    await page.keyboard.type(typed)
    await list.getByRole('option').filter({ hasText: wanted }).first().waitFor()
    await page.keyboard.press('Tab')
  }
  await editor(page).focus()
  await completeTo('Fr', 'From')
  await page.keyboard.type('incr In ')
  await completeTo('incrBytesR', 'DataNodeMetrics.incrBytesRead')
  await page.keyboard.type('Join cl In ')
  await completeTo('MostR', 'MostRecent(')
  await completeTo('ClientP', 'ClientProtocols')
  await page.keyboard.type(') ')
  await page.keyboard.type('On ')
  await completeTo('cl', 'cl ->')
  await completeTo('in', 'incr')
  await page.keyboard.type('GroupBy ')
  await completeTo('cl.proc', 'cl.procName')
  await page.keyboard.type('Selec ')
  await page.locator('.q-fault', { hasText: 'Selec' }).waitFor()
  check((await page.locator('.query-fault').innerText()).includes('did you mean Select?'), await page.locator('.query-fault').innerText())
  equal(await editor(page).getAttribute('aria-invalid'), 'true', 'aria-invalid')
  check(await page.getByRole('button', { name: 'Run', exact: true }).isDisabled(), 'a wrong query can be run')
  await page.keyboard.press('Escape')
  await page.keyboard.press('Backspace')
  await page.keyboard.type('t cl.procName, SUM(')
  await completeTo('incr.de', 'incr.delta')
  await page.keyboard.type(')')
  await eventually(async () => (await editor(page).getAttribute('aria-invalid')) === 'false' && !(await page.getByRole('button', { name: 'Run', exact: true }).isDisabled()), `the query is not taken: ${await editor(page).inputValue()}`)
  // An unknown name is marked too.
  await editor(page).fill('From x In DataNodeMetrics.incrBytesRea Select COUNT')
  await page.locator('.q-fault', { hasText: 'DataNodeMetrics.incrBytesRea' }).waitFor()
  await page.keyboard.press('Escape')
  await checkAxe(page, 'a wrong query')
})

only('a live query: asks for the token, pivots rows as they arrive, totals are sums, the final result is exact', async ({ open }) => {
  await known()
  const page = await open({ url: `${server.url}/query?${new URLSearchParams({ q: Q, for: 'none', unit: 'number' })}`, expectFailures: true })
  await page.getByRole('button', { name: 'Run', exact: true }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Token', { exact: true }).fill('not the token')
  await page.keyboard.press('Enter')
  await dialog.getByText('Wrong token.').waitFor()
  await dialog.getByLabel('Token', { exact: true }).fill(server.token)
  await page.keyboard.press('Enter')
  await page.locator('.pivot').waitFor({ timeout: SLOW })
  const id = param(page, 'id')
  const heard = listen(id)
  await eventually(async () => {
    const { names, head } = await pivot(page)
    return [...names, ...head].includes('FSread4m') && [...names, ...head].includes('Hget') && (await page.locator('.spark path').count()) > 4
  }, 'the clients are not in the table', SLOW)
  check(/^(FSread4m|[A-H]) has most of SUM\(incr\.delta\): /.test(await h1(page)), await h1(page))
  // Running queries are listed below, with their cost.
  const listed = page.locator('.query-list tbody tr', { hasText: id })
  await eventually(async () => Number((await listed.locator('td').nth(3).innerText()).replace(/,/g, '')) > 0, 'the list has no hits', SLOW)
  await page.keyboard.press('1')
  await page.locator('.plot canvas').waitFor()
  await page.keyboard.press('2')
  // The same URL in another tab follows the same query.
  const copy = await open({ url: page.url() })
  await copy.locator('.pivot').waitFor({ timeout: SLOW })
  equal(await editor(copy).inputValue(), Q, 'the text behind the same URL')
  await copy.close()
  await page.getByRole('button', { name: 'Stop' }).click()
  await page.locator('.query-ended').waitFor({ timeout: SLOW })
  const rows = (await heard).flatMap((i) => i.rows)
  await eventually(async () => (await pivot(page)).foot.at(-1) === sum(rows.map((r) => r[2])), 'the grand total is not that of the intervals', SLOW)
  checkMargins(await pivot(page))
  // After the end nothing changes any more.
  await checkAxe(page, 'a live pivot table')
  await shoot(page, 'query-live-pivot')
  await page.keyboard.press('1')
  await page.locator('.plot canvas').waitFor()
  await settled(page)
  await shoot(page, 'query-live-chart')
  await page.keyboard.press('2')
  await page.getByLabel('value').selectOption('1')
  const counted = await pivot(page)
  checkMargins(counted)
  equal(counted.foot.at(-1), sum(rows.map((r) => r[3])), 'rows')
  // One click to traces; these processes send none, and the page says why.
  await page.locator('button.pivot-cell').first().click()
  await page.getByRole('region', { name: 'Example traces' }).getByText('A live query keeps rows, not traces').waitFor()
  await eventually(async () => (await queries()).length === 0, 'the query stays', SLOW)
})

only('a standing query runs until it is removed; the plan shows its advice; losses are shown', async ({ open }) => {
  await known()
  const page = await open({ url: `${server.url}/query?${new URLSearchParams({ q: Q, plan: '1' })}`, init: withToken(server.token), expectFailures: true })
  await page.getByRole('region', { name: 'Plan' }).getByText('PACK-FIRST').first().waitFor()
  await page.route('**/api/v1/queries', async (route) => {
    if (route.request().method() !== 'GET') return route.continue()
    const answer = await route.fetch()
    const body = await answer.json()
    for (const q of body.queries) Object.assign(q.cost, { overflowed: 3, lost: 12 })
    return route.fulfill({ response: answer, json: body })
  })
  await page.getByRole('button', { name: 'Keep as standing query' }).click()
  await page.locator('.query-list .tag', { hasText: 'standing' }).waitFor({ timeout: SLOW })
  await page.getByText('3 requests carried more data than allowed').waitFor()
  await page.getByText('12 rows missing').waitFor()
  const [kept] = await queries()
  check(kept.standing && kept.query === Q, JSON.stringify(kept))
  await page.getByRole('button', { name: `Remove ${kept.id}` }).focus()
  await page.keyboard.press('Enter')
  await eventually(async () => (await queries()).length === 0, 'the query stays', SLOW)
  const gone = await open({ url: `${server.url}/query?id=${kept.id}`, expectFailures: true })
  await gone.getByText('That query has ended').waitFor({ timeout: SLOW })
})

only('stored traces: a pivot table, and one click from a group to the traces it is made of', async ({ open }) => {
  const q = 'From s In `lock wait`.end, scan.end\nJoin r In First(`POST /checkout`) On r -> s\nGroupBy r.procName, s.tracepoint, s.host\nSelect s.tracepoint, s.host, COUNT, AVERAGE(s.duration)'
  const url = `${server.url}/query?${new URLSearchParams({ mode: 'stored', q })}`
  const page = await open({ url })
  await page.locator('.pivot').waitFor({ timeout: SLOW })
  const table = await pivot(page)
  checkMargins(table)
  equal(table.foot.at(-1), shop.length * 2, 'two events a trace')
  await page.getByRole('button', { name: /^scan\.end, storage-1: 24/ }).click()
  const examples = page.getByRole('region', { name: 'Example traces' })
  await examples.getByText('the stored traces of this group').waitFor({ timeout: SLOW })
  const ids = await examples.locator('li a').allInnerTexts()
  check(ids.length > 0 && ids.every((id) => shop.some((spans) => spans[0].traceId === id)), `other traces: ${ids}`)
  const copy = await open({ url: page.url() })
  await copy.getByRole('region', { name: 'Example traces' }).locator('li a').first().waitFor({ timeout: SLOW })
  equal(await h1(copy), await h1(page), 'the sentence behind the same URL')
  // Averages have no margins.
  await page.getByLabel('value').selectOption('1')
  await page.getByText('there are no totals').waitFor()
  await page.getByLabel('value').selectOption('0')
  await examples.locator('li a').first().click()
  await page.waitForURL(/\/trace\/[0-9a-f]{32}/)
  // With a window there is a time to draw.
  const timed = await open({ url: `${server.url}/query?${new URLSearchParams({ mode: 'stored', q: 'From s In scan.end Window 10s GroupBy s.procName Select s.procName, COUNT' })}` })
  await timed.locator('.plot canvas').waitFor({ timeout: SLOW })
  equal(await h1(timed), 'storage has all of COUNT: 24', 'the answer')
  await everyLookInPlace(open, `${url}&group=${encodeURIComponent('["scan.end","storage-1"]')}`, 'query-stored', async (p) => {
    await p.getByRole('region', { name: 'Example traces' }).locator('li a').first().waitFor({ timeout: SLOW })
  })
})

only('no tracepoints yet: says how to get them', async ({ open }) => {
  for (const viewport of [DESKTOP, PHONE]) {
    const page = await open({ url: `${bare.url}/query`, viewport })
    await page.getByText('No tracepoints yet.').waitFor()
    await page.getByText('wherefore tracepoints define FILE').waitFor()
    await checkAxe(page, 'no tracepoint')
    await page.getByRole('button', { name: 'Stored traces' }).click()
    await page.getByText('No stored traces yet.').waitFor()
  }
})

await run()
