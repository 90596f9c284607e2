// A dataset's definition in the browser: edited, checked with carets, applied with its cost, filled from stored traces.
// parallel: yes
import { api, check, checkAxe, equal, eventually, everyLookInPlace, run, settled, shoot, startServer, test } from './harness.mjs'
import { applyDataset, importEvents, PAGES, PAGES_YAML, pageEvents } from './population.mjs'

const server = await startServer(['--tailer', 'off'])
await importEvents(server, pageEvents(BigInt(Date.now()) * 1_000_000n))
await applyDataset(server, PAGES_YAML)
const rowsOf = async (name) => (await api(server, '/api/v1/dataset/list')).datasets.find((d) => d.dataset === name)
const editor = (page) => page.getByRole('textbox', { name: 'Definition' })

test('a new dataset: checked, applied, filled, opened', async ({ open }) => {
  const page = await open({ url: `${server.url}/datasets` })
  await page.getByRole('link', { name: 'New dataset' }).click()
  await page.waitForURL(/\/datasets\?new=/)
  await editor(page).fill('dataset: countries\nowner: me\nfilter: Blocks | Filter(name = "load") | Exists\ncolumns: |\n  Blocks | Filter(name = "load") | First | Label(country) | RecordAs("country")\n')
  await page.getByRole('button', { name: 'Check' }).click()
  const result = page.getByRole('region', { name: 'Result of the check' })
  await result.waitFor()
  const text = await result.innerText()
  check(text.includes('Not saved.') && /\d+ of the newest \d+ traces match/.test(text) && text.includes(`match: ${PAGES} rows, 1 per trace`) && /\d (ns|µs|ms) of CPU per trace/.test(text) && text.includes('country: text'), text)
  equal(await rowsOf('countries'), undefined, 'a check saves nothing')
  await checkAxe(page, 'a checked definition')
  await shoot(page, 'definition-checked')
  await page.getByRole('button', { name: 'Apply', exact: true }).click()
  await page.getByText('countries is saved.').waitFor()
  equal((await rowsOf('countries')).rows, 0, 'rows before the backfill')
  await page.getByRole('button', { name: 'Backfill from stored traces' }).click()
  await page.getByText(`${PAGES} rows from ${PAGES} traces`).waitFor()
  equal((await rowsOf('countries')).rows, PAGES, 'rows after the backfill')
  await eventually(async () => (await page.getByRole('row', { name: /^countries/ }).innerText()).includes(String(PAGES)), 'the list does not show the rows')
  await page.getByRole('link', { name: 'Open countries' }).click()
  await page.waitForURL(/\/datasets\/countries$/)
  await page.locator('.plot canvas').waitFor()
})

test('errors are shown at their place, and nothing is saved', async ({ open }) => {
  const page = await open({ url: `${server.url}/datasets/pages?definition=`, expectFailures: true })
  await editor(page).waitFor()
  const before = (await rowsOf('pages')).definition
  equal(await editor(page).inputValue(), before, 'the definition')
  await editor(page).fill(before.replace('load | Duration', 'load | Durration'))
  await page.getByRole('button', { name: 'Apply', exact: true }).click()
  const alert = page.getByRole('alert')
  await alert.waitFor()
  const text = await alert.innerText()
  check(text.includes('Durration') && /\^~+/.test(text) && text.includes('did you mean Duration?') && /line \d+/.test(text), text)
  await checkAxe(page, 'diagnostics of a definition')
  await shoot(page, 'definition-diagnostics')
  equal((await rowsOf('pages')).definition, before, 'the definition that is kept')
  await editor(page).fill(`${before}\n`)
  await eventually(async () => (await alert.count()) === 0, 'the old diagnostics stay')
})

test('a definition above the cost limit is applied only with force', async ({ open }) => {
  const page = await open({ url: `${server.url}/datasets?new=`, expectFailures: true })
  await editor(page).fill('dataset: dear\nowner: me\ncolumns: |\n  Trace | Duration | RecordAs("d")\n')
  // The server's own measure would depend on the machine.
  await page.route('**/api/v1/dataset/apply?', async (route) => route.fulfill({ status: 400, json: { error: { code: 'bad_input', message: 'dataset dear: 20 ms of CPU per trace', hint: 'make it cheaper, or apply it with --force' } } }))
  await page.getByRole('button', { name: 'Apply', exact: true }).click()
  await page.getByRole('alert').getByText('20 ms of CPU').waitFor()
  await page.getByRole('button', { name: 'Apply anyway' }).click()
  await page.getByText('dear is saved.').waitFor()
  check((await rowsOf('dear')) !== undefined, 'it is not saved')
})

test('a backfill shows its progress and can be stopped', async ({ open }) => {
  const page = await open({ url: `${server.url}/datasets/pages?definition=`, expectFailures: true })
  let release
  const held = new Promise((resolve) => (release = resolve))
  let pieces = 0
  await page.route('**/api/v1/dataset/backfill/**', async (route) => {
    if (++pieces > 3) await held
    await route.continue().catch(() => {})
  })
  await page.getByRole('button', { name: 'Backfill from stored traces' }).click()
  const bar = page.getByRole('progressbar', { name: 'Backfilling' })
  await eventually(async () => Number(await bar.getAttribute('value')) >= 3, 'the bar does not move')
  check(/\d+ %, \d+ traces, \d+ rows/.test(await page.getByRole('region', { name: 'Backfill' }).innerText()), 'no numbers')
  await page.getByRole('button', { name: 'Stop' }).click()
  release()
  await page.getByRole('alert').getByText('Stopped').waitFor()
  await page.unroute('**/api/v1/dataset/backfill/**')
  await page.getByRole('button', { name: 'Backfill from stored traces' }).click()
  await page.getByText(`${PAGES} rows from ${PAGES} traces`).waitFor()
  equal((await rowsOf('pages')).rows, PAGES, 'rows, none of them twice')
})

test('the editor in light and dark, wide and narrow, without serious axe findings', ({ open }) =>
  everyLookInPlace(open, `${server.url}/datasets/pages?definition=`, 'definition', async (page) => {
    await editor(page).waitFor()
    await settled(page)
  }))

await run()
