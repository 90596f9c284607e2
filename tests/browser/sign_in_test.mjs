// A server with accounts: the page asks to sign in, keeps it for the tab, shows the tenant, and never another's data.
// needs: wherefore
import { createHash } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { atEnd, check, checkAxe, equal, eventually, run, shoot, startServer, test } from './harness.mjs'
import { checkout, otlp, random } from './scenario.mjs'

const folder = await mkdtemp(join(tmpdir(), 'wherefore-accounts-'))
atEnd(() => rm(folder, { recursive: true, force: true }))
const accounts = join(folder, 'accounts.yaml')
const entry = (name, roles) => `  - name: ${name}\n    token: sha256:${createHash('sha256').update(`token-of-${name}`).digest('hex')}\n    tenants: [${name}]\n    roles: ${roles}\n`
await writeFile(accounts, `accounts:\n${entry('shop', '[read, write]')}${entry('ops', '[read, write]')}`, { mode: 0o600 })
const server = await startServer(['--accounts', accounts])

const now = BigInt(Date.now()) * 1_000_000n
const spans = checkout(random(5), now - 60_000_000_000n, { traceId: 'beef0000'.repeat(4) })
const sent = await fetch(`${server.url}/api/v1/import?name=shop.json`, { method: 'POST', headers: { authorization: 'Bearer token-of-shop' }, body: JSON.stringify(otlp(spans)) })
check(sent.ok, `import: ${sent.status} ${await sent.text()}`)

const dialogOf = (page) => page.getByRole('dialog', { name: 'Sign in' })
async function signIn(page, token) {
  await dialogOf(page).getByLabel('Token').fill(token)
  await dialogOf(page).getByRole('button', { name: 'Sign in' }).click()
}

test('the page asks to sign in; a wrong token is refused', async ({ open }) => {
  const page = await open({ url: `${server.url}/search`, expectFailures: true })
  await dialogOf(page).waitFor()
  await checkAxe(page, 'sign-in')
  await shoot(page, 'sign-in')
  await signIn(page, 'nonsense')
  await dialogOf(page).getByRole('alert').getByText('unknown token').waitFor()
  equal(await page.evaluate(() => sessionStorage.length), 0, 'what is kept of a wrong token')
})

test('with a token the tab shows the tenant and its traces, until sign-out', async ({ open }) => {
  const page = await open({ url: `${server.url}/trace/${spans[0].traceId}`, expectFailures: true })
  await dialogOf(page).waitFor()
  await signIn(page, 'token-of-shop')
  await page.locator('.trace h1').waitFor()
  await page.getByRole('button', { name: 'shop' }).waitFor()
  const kept = await page.evaluate(() => document.cookie + JSON.stringify(localStorage))
  check(!kept.includes('token-of-shop'), `the token is kept beyond the tab: ${kept}`)
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'JSON' }).click()])
  check(download.suggestedFilename().includes(spans[0].traceId), download.suggestedFilename())
  await page.reload()
  await page.locator('.trace h1').waitFor()
  equal(await dialogOf(page).count(), 0, 'dialogs after a reload')
  await page.getByRole('button', { name: 'shop' }).click()
  await dialogOf(page).waitFor()
})

test('another tenant’s trace is not shown', async ({ open }) => {
  const page = await open({ url: `${server.url}/trace/${spans[0].traceId}`, expectFailures: true })
  await dialogOf(page).waitFor()
  await signIn(page, 'token-of-ops')
  await page.getByRole('button', { name: 'ops' }).waitFor()
  await eventually(async () => (await page.locator('#main').innerText()).includes('not in this store'), 'the trace is shown')
})

await run()
