// A recorded program in the browser: the list, threads as lanes, one sub-computation with its neighbours, the waits.
// needs: wherefore
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { atEnd, check, checkAxe, DESKTOP, equal, everyLook, PHONE, ROOT, run, startServer, test } from './harness.mjs'

const binary = process.env.WHEREFORE ?? join(ROOT, 'build/release/wherefore')
const build = process.env.WHEREFORE_BUILD ?? dirname(binary)
const real = binary !== 'mock'
const [server, bare] = real ? await Promise.all([startServer(['--tailer', 'off']), startServer(['--tailer', 'off'])]) : []
let id = ''
if (real) {
  const folder = mkdtempSync(join(tmpdir(), 'recording-'))
  atEnd(async () => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'run.cpg')
  // Three threads take rows of a matrix from one counter, under one lock.
  execFileSync(binary, ['record', '-o', file, '--', join(build, 'recorded_pca'), '3', '0.02'], { stdio: 'ignore', timeout: 120_000 })
  id = JSON.parse(execFileSync(binary, ['import', file, '--store', server.url, '--format', 'json'], { encoding: 'utf8' })).trace_ids[0]
}
const only = (name, body) => test(name, async (tools) => (real ? body(tools) : undefined))
const h1 = (page) => page.locator('h1').innerText()
const SLOW = 40_000 // a wait that only a machine in trouble needs
const at = (path = '') => `${server.url}/recordings/${id}${path}`
const shown = (page) => page.locator('.lane-scroll, .grid').first().waitFor({ timeout: SLOW })
const panel = (page, text) => page.locator('.sub-panel h2', { hasText: text }).waitFor({ timeout: SLOW })

only('without recordings the page says how to make one', async ({ open }) => {
  for (const viewport of [DESKTOP, PHONE]) {
    const page = await open({ url: `${bare.url}/recordings`, viewport })
    await page.getByText('wherefore record -o run.cpg').waitFor({ timeout: SLOW })
    await checkAxe(page, 'no recordings')
  }
})

only('the list leads to the recording', async ({ open }) => {
  const page = await open({ url: `${server.url}/recordings` })
  await page.getByRole('link', { name: 'recorded_pca' }).click()
  await shown(page)
  equal(new URL(page.url()).pathname, `/recordings/${id}`, 'the page of the recording')
  check((await h1(page)).startsWith('7 threads in '), `the sentence does not name 7 threads: ${await h1(page)}`)
})

only('keys move along a thread, and the panel shows its sub-computations', async ({ open }) => {
  const page = await open({ url: at() })
  await shown(page)
  await page.locator('.lane-scroll').focus()
  await page.keyboard.press('ArrowDown')
  await panel(page, '0.0')
  await page.keyboard.press('ArrowRight')
  await panel(page, '0.1')
  await page.keyboard.press('ArrowDown')
  await panel(page, /^1\./)
  await page.keyboard.press('Escape')
  await page.locator('.sub-panel').waitFor({ state: 'detached' })
})

only('an edge leads to the other thread', async ({ open }) => {
  const page = await open({ url: at('?sub=1.0') })
  await panel(page, '1.0')
  await page.locator('.sub-panel').getByRole('button', { name: /^0\./ }).first().click()
  await panel(page, /^0\./)
  check(new URL(page.url()).searchParams.get('sub').startsWith('0.'), 'the address holds what is selected')
})

only('the waits are in a table that leads back to the threads', async ({ open }) => {
  const page = await open({ url: at('?view=waits') })
  await shown(page)
  check((await page.locator('.grid tbody tr').count()) >= 1, 'no thread waits')
  await checkAxe(page, 'the waits')
  await page.locator('.grid tbody tr button').first().click()
  await panel(page, /\d/)
})

only('without data depth the pages say how to record them', async ({ open }) => {
  const page = await open({ url: at('?view=pages') })
  await page.getByText('wherefore record --data').waitFor({ timeout: SLOW })
})

only('a recording that does not exist', async ({ open }) => {
  const page = await open({ url: `${server.url}/recordings/00000000000000000000000000000abc`, expectFailures: true })
  await page.getByText('no such recording').waitFor({ timeout: SLOW })
})

only('threads in light and dark, on a desktop and a phone', async ({ open }) => {
  await everyLook(open, at('?sub=1.1'), 'recording', (page) => panel(page, '1.1'))
})

await run()
