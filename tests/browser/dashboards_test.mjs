// Dashboards: saved charts, shared by link.
// parallel: yes
import { api, atEnd, check, checkAxe, equal, eventually, everyLook, run, settled, shoot, startServer, test } from './harness.mjs'
import { datasetMock } from './mock_datasets.mjs'
import { startMock } from './mock_server.mjs'
import { fillPages } from './population.mjs'

const server = await startServer(['--tailer', 'off'])
await fillPages(server, BigInt(Date.now()) * 1_000_000n)
const put = (name, body) => fetch(`${server.url}/api/v1/dashboards/${name}`, { method: 'PUT', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } })
const CHARTS = [
  { title: 'Latency by version', dataset: 'pages', query: 'agg=p95(latency_ns)&group_by=version', wide: true },
  { title: 'CSS', dataset: 'pages', query: 'chart=distribution&metric=css_bytes', wide: false },
  { title: 'Where from', dataset: 'pages', query: 'chart=breakdown&group_by=country&agg=count', wide: false },
  { title: 'Heat', dataset: 'pages', query: 'chart=heat', wide: false },
  { title: 'Gone', dataset: 'nowhere', query: '', wide: false },
]
const drawn = async (page, n) => {
  await eventually(async () => (await page.locator('.plot canvas').count()) === n, `there are never ${n} charts`, 15_000)
  await settled(page)
}

test('the API stores dashboards, refuses invalid ones, and deletes them', async () => {
  equal((await put('shop', { title: 'Shop', charts: CHARTS })).status, 200, 'saved')
  const kept = await api(server, '/api/v1/dashboards/shop')
  equal(JSON.stringify(kept.charts), JSON.stringify(CHARTS), 'the charts')
  check(kept.changed_ns > 0 && kept.title === 'Shop' && kept.name === 'shop', JSON.stringify(kept))
  for (const [name, body] of [['a b', { title: 'x', charts: [] }], ['x', { charts: [] }], ['x', { title: 'x' }], ['x', { title: 'x', charts: [{ title: 1 }] }], ['x', { title: '', charts: [] }]]) {
    const answer = await put(encodeURIComponent(name), body)
    equal(answer.status, 400, `${name} ${JSON.stringify(body)}`)
    check((await answer.json()).error.hint.length > 0, 'no hint')
  }
  await put('gone', { title: 'Gone', charts: [] })
  equal((await fetch(`${server.url}/api/v1/dashboards/gone`, { method: 'DELETE' })).status, 200, 'deleted')
  equal((await fetch(`${server.url}/api/v1/dashboards/gone`)).status, 404, 'after deleting')
  equal((await fetch(`${server.url}/api/v1/dashboards/gone`, { method: 'DELETE' })).status, 404, 'deleting again')
  equal((await api(server, '/api/v1/dashboards')).dashboards.map((d) => `${d.name} ${d.charts}`).join(), 'shop 5', 'the list')
})

test('a chart is saved from its page into a new dashboard, and opened from there', async ({ open }) => {
  const page = await open({ url: `${server.url}/datasets/pages?chart=breakdown&group_by=browser&agg=count` })
  await drawn(page, 1)
  await page.getByRole('button', { name: 'Dashboard' }).click()
  const dialog = page.getByRole('dialog', { name: 'Add to a dashboard' })
  await dialog.getByLabel('Chart').fill('Browsers')
  await dialog.getByLabel('Dashboard').fill('My first & best')
  await checkAxe(page, 'saving a chart')
  await dialog.getByRole('button', { name: 'Create and add' }).click()
  await dialog.getByRole('link', { name: 'Open the dashboard' }).click()
  await page.waitForURL(/\/dashboards\/my-first-best$/)
  await drawn(page, 1)
  equal(await page.locator('h1').innerText(), 'My first & best', 'the title')
  await page.getByRole('link', { name: 'Open Browsers' }).click()
  await page.waitForURL(/\/datasets\/pages\?chart=breakdown&group_by=browser&agg=count$/)
})

test('a link opens the same dashboard elsewhere; a mark leads to its rows; a range holds for all', async ({ open }) => {
  const page = await open({ url: `${server.url}/dashboards/shop`, expectFailures: true })
  await drawn(page, 4)
  check((await page.getByRole('region', { name: 'Gone' }).innerText()).includes('nowhere'), 'a missing dataset is not named')
  const box = await page.getByRole('region', { name: 'Where from' }).locator('canvas').boundingBox()
  await page.mouse.click(box.x + 200, box.y + 17)
  await page.waitForURL(/\/datasets\/pages\?.*mark=country/)
  await page.getByRole('table', { name: 'Rows behind this point' }).waitFor()
  await page.goBack()
  await drawn(page, 4)
  await page.getByRole('button', { name: 'last 15 minutes' }).click()
  await page.waitForURL(/since=15m/)
  await eventually(async () => /^count by country/.test(await page.getByRole('region', { name: 'Where from' }).locator('.chart-say p').innerText()), 'no answer for 15 minutes')
})

test('editing: the order, the width, the title; charts go; all of it is kept', async ({ open }) => {
  await put('edit', { title: 'Edit me', charts: CHARTS.slice(0, 3) })
  const page = await open({ url: `${server.url}/dashboards/edit` })
  await drawn(page, 3)
  // Saves are slow, so that the next change is made while the one before is in progress.
  await page.route('**/api/v1/dashboards/edit', async (route) => {
    if (route.request().method() === 'PUT') await new Promise((r) => setTimeout(r, 300))
    await route.continue()
  })
  await page.getByRole('button', { name: 'Edit' }).click()
  await page.getByRole('button', { name: 'Move CSS forward' }).click()
  await page.getByRole('button', { name: 'Remove Where from' }).click()
  await page.getByRole('textbox', { name: 'Title' }).fill('Edited')
  await page.getByRole('button', { name: 'Done' }).click()
  await eventually(async () => {
    const kept = await api(server, '/api/v1/dashboards/edit')
    return kept.title === 'Edited' && kept.charts.map((c) => c.title).join() === 'CSS,Latency by version'
  }, 'the changes are not kept')
  page.on('dialog', (dialog) => dialog.accept())
  await page.getByRole('button', { name: 'Edit' }).click()
  await page.getByRole('button', { name: 'Delete' }).click()
  await page.waitForURL(/\/dashboards$/)
  equal((await fetch(`${server.url}/api/v1/dashboards/edit`)).status, 404, 'after Delete')
})

test('a save over a newer one is refused, and the reader chooses', async ({ open }) => {
  await put('both', { title: 'Ours', charts: CHARTS.slice(0, 2) })
  const first = (await api(server, '/api/v1/dashboards/both')).revision
  const page = await open({ url: `${server.url}/dashboards/both`, expectFailures: true })
  await drawn(page, 2)
  await page.getByRole('button', { name: 'Edit' }).click()
  equal((await put('both', { title: 'Theirs', charts: CHARTS.slice(0, 2), revision: first })).status, 200, 'their save')
  equal((await put('both', { title: 'Late', charts: [], revision: first })).status, 409, 'a save of what was read before')
  equal((await put('new', { title: 'New', charts: [], revision: first })).status, 409, 'a save of what is not there')
  equal((await put('both', { title: 'New', charts: [], revision: '' })).status, 409, 'a new one of a name there is')
  await page.getByRole('button', { name: 'Remove CSS' }).click()
  const alert = page.getByRole('alert').filter({ hasText: 'Somebody else' })
  await alert.waitFor()
  await checkAxe(page, 'a refused save')
  equal((await api(server, '/api/v1/dashboards/both')).charts.length, 2, 'nothing was saved')
  await alert.getByRole('button', { name: 'Load theirs' }).click()
  await eventually(async () => (await page.getByRole('textbox', { name: 'Title' }).inputValue()) === 'Theirs', 'theirs is not shown')
  await drawn(page, 2)
  // After loading, the change is accepted; if it is refused again, it can be forced.
  await page.getByRole('button', { name: 'Remove CSS' }).click()
  await eventually(async () => (await api(server, '/api/v1/dashboards/both')).charts.length === 1, 'it is not saved')
  await page.getByRole('button', { name: 'wide' }).click()
  await eventually(async () => (await api(server, '/api/v1/dashboards/both')).charts[0].wide === false, 'a second change is not saved')
  await put('both', { title: 'Theirs again', charts: [] })
  await page.getByRole('button', { name: 'wide' }).click()
  await page.getByRole('button', { name: 'Overwrite with mine' }).click()
  await eventually(async () => {
    const kept = await api(server, '/api/v1/dashboards/both')
    return kept.title === 'Theirs' && kept.charts.length === 1 && kept.charts[0].wide
  }, 'mine is not saved')
  await eventually(async () => (await alert.count()) === 0, 'the warning stays')
  await fetch(`${server.url}/api/v1/dashboards/both`, { method: 'DELETE' })
})

test('the list, and the palette, lead to a dashboard', async ({ open }) => {
  const page = await open({ url: `${server.url}/dashboards`, expectFailures: true })
  await page.getByRole('link', { name: 'Shop' }).waitFor()
  await checkAxe(page, 'the list of dashboards')
  await shoot(page, 'dashboards-list')
  await page.keyboard.press('Control+k')
  await page.keyboard.type('shop')
  await page.getByRole('option', { name: 'Shop dashboard' }).waitFor()
  await page.keyboard.press('Enter')
  await page.waitForURL(/\/dashboards\/shop/)
  await page.goto(`${server.url}/dashboards/nothing`)
  await page.getByRole('alert').waitFor()
})

test('a dashboard in light and dark, wide and narrow, without serious axe findings', async ({ open }) => {
  await put('looks', { title: 'Shop', charts: CHARTS.slice(0, 4) })
  await everyLook(open, `${server.url}/dashboards/looks`, 'dashboard', (page) => drawn(page, 4))
})

test('empty, loading, failing and huge', async ({ open }) => {
  const answers = datasetMock()
  const state = { body: { dashboards: [] }, status: 200, delayMs: 0 }
  const many = { name: 'many', title: 'Many', changed_ns: 1, charts: Array.from({ length: 40 }, (_, i) => ({ title: `Chart ${i}`, dataset: 'pages', query: i % 2 ? 'chart=breakdown' : '', wide: false })) }
  const mock = await startMock({ behave: (path, url) => (path === '/api/v1/dashboards' ? state : path === '/api/v1/dashboards/many' ? { status: 200, body: many } : answers(path, url)) })
  atEnd(mock.close)
  const page = await open({ url: `${mock.url}/dashboards`, expectFailures: true })
  await page.getByText('No dashboards yet.').waitFor()
  await checkAxe(page, 'no dashboards')
  Object.assign(state, { status: 503, delayMs: 700, body: { error: { code: 'overloaded', message: 'The store is behind by 3 batches.', hint: 'Ask again.' } } })
  await page.reload()
  await page.locator('.skeleton').waitFor()
  await page.getByRole('alert').waitFor()
  const huge = await open({ url: `${mock.url}/dashboards/many` })
  await drawn(huge, 40)
  await shoot(huge, 'dashboard-huge')
})

await run()
