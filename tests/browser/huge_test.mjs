// A trace of 100,000 spans at 1280×720: opens within 2 s; the 99th percentile of 300 scrolled frames is at most
// 50 ms; zooming, finding and folding stay fluent too. Measured in the page by requestAnimationFrame.
// needs: wherefore
// timeout: 300
import { check, checkAxe, equal, eventually, run, settled, shoot, startServer, test } from './harness.mjs'
import { huge, random } from './scenario.mjs'

const SPANS = 100_000
const OPEN_MS = 2000
const FRAME_MS = 50
const ANSWER_MS = 100
const server = await startServer()
const ID = '100000'.padStart(32, 'a')
const spans = huge(random(9), BigInt(Date.now() - 300_000) * 1_000_000n, SPANS, ID)
await server.feed([spans])
const url = `${server.url}/trace/${ID}`

// Notes the first frame after the waterfall is on screen, in ms since the navigation began.
const noteOpened = () => {
  const look = () => {
    const canvas = document.querySelector('.wf-canvas')
    if (canvas && canvas.width > 300 && document.querySelector('.trace h1')) {
      requestAnimationFrame(() => (window.openedMs = performance.now()))
    } else requestAnimationFrame(look)
  }
  requestAnimationFrame(look)
}
const opened = async (page) => {
  // Asked rarely, so that asking does not slow what is measured. (waitForFunction would need eval, which the CSP forbids.)
  await eventually(() => page.evaluate(() => window.openedMs), 'the waterfall never appeared', 60_000, 100)
  return page.evaluate(() => window.openedMs)
}

const MOVES = {
  scroll: (frame, box) => (box.scrollTop += 1 + (frame % 7) * 137),
  scrollShort: (frame, box) => (box.scrollTop = (frame % 20) * 12),
  zoom(frame, box) {
    const { left, top, width } = box.getBoundingClientRect()
    box.dispatchEvent(new WheelEvent('wheel', {
      bubbles: true, cancelable: true, ctrlKey: frame % 3 !== 0, shiftKey: frame % 3 === 0,
      deltaY: frame < 150 ? -30 : 30, clientX: left + width * 0.7, clientY: top + 50,
    }))
  },
}

// Frame times while a move is made 300 times, once a frame.
const frames = (page, name) =>
  page.evaluate(`(async () => {
    const moves = { ${Object.entries(MOVES).map(([key, f]) => (f.toString().startsWith(key) ? f.toString() : `${key}: ${f}`)).join(', ')} }
    const move = moves.${name}
    const box = document.querySelector('.wf-scroll')
    const times = []
    let before = await new Promise(requestAnimationFrame)
    for (let frame = 0; frame < 300; frame++) {
      move(frame, box)
      const now = await new Promise(requestAnimationFrame)
      times.push(now - before)
      before = now
    }
    times.sort((a, b) => a - b)
    return { p50: times[150], p99: times[296], max: times[299] }
  })()`)
const show = (f) => `p50 ${f.p50.toFixed(1)} ms, p99 ${f.p99.toFixed(1)} ms, max ${f.max.toFixed(1)} ms`

test('100,000 spans open within 2 s', async ({ open }) => {
  // The best of three: other work on the machine can only add time.
  const times = []
  for (let i = 0; i < 3 && !(Math.min(...times) <= OPEN_MS); i++) {
    const page = await open({ url, init: noteOpened })
    times.push(await opened(page))
    const [asked, first, last] = await page.evaluate(() => {
      const entry = performance.getEntriesByType('resource').find((e) => e.name.includes('view=waterfall'))
      return [entry.startTime, entry.responseStart, entry.responseEnd]
    })
    console.log(`# asked at ${Math.round(asked)} ms, first byte ${Math.round(first)}, last byte ${Math.round(last)}, drawn ${Math.round(times.at(-1))}`)
    check((await page.locator('.facts-line').innerText()).includes('100,000 spans'), 'not all spans are there')
    if (i === 0) await shoot(page, 'huge-trace')
  }
  console.log(`# opened in ${times.map((t) => Math.round(t)).join(', ')} ms`)
  check(Math.min(...times) <= OPEN_MS, `opened in ${times.map(Math.round)} ms, more than ${OPEN_MS}`)
})

test('the 99th percentile of 300 scrolled frames is at most 50 ms', async ({ open }) => {
  const page = await open({ url, init: noteOpened })
  await opened(page)
  await settled(page)
  const before = await page.evaluate(() => document.querySelector('.wf-canvas').toDataURL())
  const f = await frames(page, 'scroll')
  console.log(`# scrolled: ${show(f)}`)
  const top = await page.evaluate(() => document.querySelector('.wf-scroll').scrollTop)
  check(top > 100_000, `only scrolled to ${top}`)
  check((await page.evaluate(() => document.querySelector('.wf-canvas').toDataURL())) !== before, 'scrolling drew nothing new')
  check(f.p99 <= FRAME_MS, show(f))
})

test('zooming and panning 300 frames over 100,000 spans: p99 at most 50 ms', async ({ open }) => {
  const page = await open({ url, init: noteOpened })
  await opened(page)
  await settled(page)
  const f = await frames(page, 'zoom')
  console.log(`# zoomed and panned: ${show(f)}`)
  check(f.p99 <= FRAME_MS, show(f))
})

test('folded rows merge what is below a pixel and stay fluent', async ({ open }) => {
  const page = await open({ url, init: noteOpened })
  await opened(page)
  await page.getByRole('button', { name: 'Fold all' }).click()
  await eventually(async () => Number(await page.getByRole('treegrid').getAttribute('aria-rowcount')) < 100, 'Fold all leaves more than 100 rows')
  await settled(page)
  const f = await frames(page, 'scrollShort')
  console.log(`# scrolled, folded: ${show(f)}`)
  check(f.p99 <= FRAME_MS, show(f))
  await shoot(page, 'huge-folded')
})

test('finding in 100,000 spans answers within 100 ms', async ({ open }) => {
  const page = await open({ url, init: noteOpened })
  await opened(page)
  await page.keyboard.press('/')
  await page.keyboard.type('checksu')
  const times = []
  for (const text of ['checksum', 'checksu', 'checksum', 'checksu', 'checksum']) {
    times.push(await page.evaluate(async (wanted) => {
      const input = document.querySelector('.find input')
      const start = performance.now()
      Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(input, wanted)
      input.dispatchEvent(new Event('input', { bubbles: true }))
      await new Promise(requestAnimationFrame)
      await new Promise(requestAnimationFrame)
      return performance.now() - start
    }, text))
  }
  times.sort((a, b) => a - b)
  console.log(`# found in ${times.map((t) => t.toFixed(0)).join(', ')} ms`)
  const expected = spans.filter((s) => s.name === 'checksum').length
  equal((await page.locator('.find [role=status]').innerText()).replace(/^–\//, ''), expected.toLocaleString('en-US'), 'matches')
  check(times[2] <= ANSWER_MS, `median ${times[2]} ms`)
})

test('the last of 100,000 spans is one key away, and its link leads back to it', async ({ open }) => {
  const page = await open({ url, init: noteOpened })
  await opened(page)
  await page.keyboard.press('End')
  await eventually(() => new URL(page.url()).searchParams.get('span'), 'End selects nothing')
  await page.locator('.panel .kv').first().waitFor()
  const again = await open({ url: page.url(), init: noteOpened })
  await opened(again)
  await settled(again)
  const top = await again.evaluate(() => document.querySelector('.wf-scroll').scrollTop)
  check(top > (SPANS - 60) * 24, `the deep link scrolled to ${top} only`)
  await checkAxe(again, 'huge trace')
})

await run()
