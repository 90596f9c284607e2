// What every browser test shares: Debian's Chromium, a server with the seeded shop in it, pages that fail the test
// on a CSP violation, a script error or a request that leaves the origin, and result lines as tests/README.md asks.
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'
import { MockStore, startMock } from './mock_server.mjs'
import { otlp } from './scenario.mjs'

export const ROOT = fileURLToPath(new URL('../../', import.meta.url))
export const OUTPUT = join(ROOT, 'build/test-output/browser')
const axeSource = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

export const DESKTOP = { width: 1280, height: 720 }
export const PHONE = { width: 390, height: 844 }

const tests = []
export const test = (name, body) => tests.push({ name, body })

export function check(condition, message) {
  if (!condition) throw new Error(message)
}

export function equal(actual, expected, what) {
  check(actual === expected, `${what}: expected ${JSON.stringify(expected)}, got ${JSON.stringify(actual)}`)
}

// `tries` a condition that becomes true a moment later; the message says what never happened.
export async function eventually(condition, message, timeoutMs = 5000, everyMs = 25) {
  const end = Date.now() + timeoutMs
  let last
  do {
    try {
      if (await condition()) return
    } catch (cause) {
      last = cause
    }
    await new Promise((r) => setTimeout(r, everyMs))
  } while (Date.now() < end)
  throw new Error(`${message}${last ? ` (${last.message})` : ''}`)
}

// A promise, and the function that keeps it.
export function gate() {
  let open
  const until = new Promise((resolve) => (open = resolve))
  return { until, open }
}

let browser
const closers = []
export const atEnd = (closer) => closers.push(closer)

// Runs the tests in order, with TEST=substring to choose and TIMES=1 to see where the time goes; ends the process with 1
// if any failed.
export async function run() {
  mkdirSync(OUTPUT, { recursive: true })
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  })
  let failed = 0
  for (const { name, body } of tests) {
    if (process.env.TEST && !name.includes(process.env.TEST)) continue
    const open = []
    const began = Date.now()
    try {
      await body({ open: (options) => openPage(options, open) })
      for (const page of open) page.verify()
      console.log(`ok ${name}`)
    } catch (cause) {
      failed++
      const shot = join(OUTPUT, `failed-${name.replace(/\W+/g, '-')}.png`)
      await open.at(-1)?.page.screenshot({ path: shot }).catch(() => undefined)
      console.log(`not ok ${name}`)
      console.log(String(cause.stack ?? cause).replace(/^/gm, '    '))
    }
    for (const { context } of open) {
      if (process.env.UI_FROM_DIST) await context.unrouteAll({ behavior: 'ignoreErrors' })
      await context.close()
    }
    if (process.env.TIMES) console.log(`# ${((Date.now() - began) / 1000).toFixed(1)} s ${name}`)
  }
  await browser.close()
  for (const close of closers.reverse()) await close()
  process.exit(failed ? 1 : 0)
}

async function openPage({ url, viewport = DESKTOP, theme = 'light', offline = false, expectFailures = false, init = null, otherOrigins = [] }, open) {
  const context = await browser.newContext({ viewport, colorScheme: theme, acceptDownloads: true })
  const page = await context.newPage()
  const faults = []
  const origins = [new URL(url).origin, ...otherOrigins]
  page.on('request', (request) => {
    const to = request.url()
    if (!origins.some((origin) => to.startsWith(`${origin}/`)) && !/^(data|blob):/.test(to)) faults.push(`request leaves the origin: ${to}`)
  })
  page.on('pageerror', (cause) => faults.push(`script error: ${cause.message}`))
  page.on('console', (message) => {
    if (/content security policy/i.test(message.text())) faults.push(`CSP: ${message.text()}`)
    else if (message.type() === 'error' && !expectFailures) faults.push(`console: ${message.text()}`)
  })
  await page.addInitScript(() => {
    window.violations = []
    document.addEventListener('securitypolicyviolation', (event) => window.violations.push(`${event.violatedDirective} ${event.blockedURI}`))
  })
  if (init) await page.addInitScript(init)
  if (process.env.UI_FROM_DIST) await serveDist(context)
  const handle = {
    context,
    page,
    verify() {
      if (faults.length) throw new Error(faults.join('; '))
    },
  }
  open.push(handle)
  if (offline) await context.setOffline(true)
  const answer = await page.goto(url)
  const csp = answer.headers()['content-security-policy'] ?? ''
  check(/default-src 'self'/.test(csp) && !/unsafe/.test(csp), `no strict CSP on ${url}: “${csp}”`)
  return page
}

// UI_FROM_DIST=1: the API of the binary under the pages of ui/dist, to try a change without linking it in.
async function serveDist(context) {
  await context.route((url) => !url.pathname.startsWith('/api/'), async (route) => {
    const { pathname } = new URL(route.request().url())
    const answer = await route.fetch()
    const path = join(ROOT, 'ui/dist', /\.\w+$/.test(pathname) ? pathname : 'index.html')
    const type = { js: 'text/javascript', css: 'text/css', svg: 'image/svg+xml', html: 'text/html' }[path.split('.').at(-1)]
    const headers = { ...answer.headers(), 'content-type': type }
    delete headers['content-length']
    await route.fulfill({ status: 200, headers, body: await readFile(path) })
  })
}

export async function checkAxe(page, what) {
  // Evaluated by the debugger, not inserted as a script element, so the page's CSP stays as it is. Once a page: half a
  // megabyte of script takes a while.
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axeSource)
  const found = await page.evaluate(async () => {
    const result = await window.axe.run(document, { resultTypes: ['violations'] })
    return result.violations
      .filter((v) => v.impact === 'serious' || v.impact === 'critical')
      .map((v) => `${v.id}: ${v.help} (${v.nodes.slice(0, 3).map((n) => n.target.join(' ')).join(', ')})`)
  })
  check(found.length === 0, `axe on ${what}: ${found.join('; ')}`)
  const violations = await page.evaluate(() => window.violations)
  check(violations.length === 0, `CSP on ${what}: ${violations.join('; ')}`)
}

export const shoot = (page, name) => page.screenshot({ path: join(OUTPUT, `${name}.png`) })

async function checkLook(page, name, theme, viewport) {
  await checkAxe(page, `${name} ${theme} ${viewport.width}`)
  const wide = await page.evaluate(() => document.documentElement.scrollWidth)
  check(wide <= viewport.width, `${name} is ${wide} px wide on a ${viewport.width} px screen`)
  await shoot(page, `${name}-${theme}-${viewport.width}x${viewport.height}`)
}

// A view in both themes and both sizes: axe and a kept screenshot of each. Each theme, and each size, is what a page was
// loaded in once, and what a page was changed to once: loading all four would take twice as long.
export async function everyLook(open, url, name, ready) {
  for (const [theme, first, second] of [['light', DESKTOP, PHONE], ['dark', PHONE, DESKTOP]]) {
    const page = await open({ url, theme, viewport: first })
    await ready(page)
    await checkLook(page, name, theme, first)
    await page.setViewportSize(second)
    await settled(page)
    await ready(page)
    await checkLook(page, name, theme, second)
  }
}

// The same on one page that changes its theme and size while it is open, which is quicker.
export async function everyLookInPlace(open, url, name, ready) {
  const page = await open({ url })
  await ready(page)
  for (const theme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme: theme })
    for (const viewport of [DESKTOP, PHONE]) {
      await page.setViewportSize(viewport)
      await settled(page)
      await checkLook(page, name, theme, viewport)
    }
  }
}

// The real server where there is one; WHEREFORE=mock runs the same tests on the mock while working on the UI.
// `flags` are added to those of every test's server.
export async function startServer(flags = []) {
  const binary = process.env.WHEREFORE ?? join(ROOT, 'build/release/wherefore')
  if (binary === 'mock') {
    const store = new MockStore()
    const mock = await startMock({ store })
    atEnd(mock.close)
    return { url: mock.url, real: false, feed: async (traces) => traces.forEach((spans) => store.add(spans)), stop: mock.close }
  }
  check(existsSync(binary), `${binary} is not built`)
  const folder = await mkdtemp(join(tmpdir(), 'wherefore-browser-'))
  const child = spawn(binary, ['serve', '--store', folder, '--http', '0', '--otlp-http', '0', '--otlp-grpc', 'off', '--zipkin', 'off', '--jaeger', 'off', ...flags], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  // Whatever ends this process must not leave a server behind.
  process.on('exit', () => child.kill('SIGKILL'))
  let log = ''
  child.stdout.on('data', (data) => (log += data))
  child.stderr.on('data', (data) => (log += data))
  let stopped = false
  const stop = async () => {
    if (stopped) return
    stopped = true
    if (child.exitCode === null) {
      child.kill('SIGTERM')
      await new Promise((resolve) => child.once('exit', resolve))
    }
    await rm(folder, { recursive: true, force: true })
  }
  atEnd(stop)
  let addresses
  await eventually(async () => {
    check(child.exitCode === null, `the server ended: ${log}`)
    addresses = JSON.parse(await readFile(join(folder, 'server.json'), 'utf8'))
    return addresses.http
  }, `no server.json; the server said: ${log}`, 20_000)
  const url = `http://${addresses.http}`
  const otlpUrl = `http://${addresses.otlp_http ?? addresses['otlp-http']}/v1/traces`
  return {
    url,
    binary,
    otlpUrl,
    real: true,
    token: addresses.token,
    stop,
    // Imports a file's text, as dropping it on the page would.
    async importText(name, text) {
      const answer = await fetch(`${url}/api/v1/import?name=${encodeURIComponent(name)}`, { method: 'POST', headers: { 'content-type': 'application/octet-stream' }, body: text })
      const body = await answer.json()
      check(answer.ok && body.rejected === 0, `importing ${name} answered ${answer.status}: ${JSON.stringify(body)}`)
      return body
    },
    // Sends traces as OTLP/JSON and returns once the last one can be read back whole.
    async feed(traces) {
      const spans = traces.flat()
      for (let i = 0; i < spans.length; i += 4000) {
        const answer = await fetch(otlpUrl, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(otlp(spans.slice(i, i + 4000))) })
        check(answer.ok, `OTLP answered ${answer.status}: ${await answer.text()}`)
      }
      const last = traces.at(-1)
      await eventually(async () => {
        const answer = await fetch(`${url}/api/v1/trace/${last[0].traceId}?view=waterfall`)
        return answer.ok && (await answer.json()).blocks.span_id.length >= last.length
      }, 'the traces sent are not found again', 60_000)
    },
  }
}

export const api = async (server, path) => (await fetch(server.url + path)).json()

// The drawn waterfall as text, to compare screens exactly.
export const canvasData = (page, selector) => page.evaluate((s) => document.querySelector(s).toDataURL(), selector)

// Resolves after two frames: React has rendered and the canvas is drawn.
export const settled = (page) => page.evaluate(() => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(r, 30)))))
