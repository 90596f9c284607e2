// How events are sent: batches, retries, refusals, limits and the beacon, with a fake server and clock.
// parallel: yes
import test, { mock } from 'node:test'
import assert from 'node:assert/strict'
import { load } from './load.mjs'

const { makeSender, losses, resetLosses } = await load('sender.ts', 'losses.ts')

// Timers run on tick().
const timers = []
mock.method(globalThis, 'setTimeout', (body, ms) => timers.push({ body, ms }) && timers.at(-1))
mock.method(globalThis, 'clearTimeout', (timer) => timers.includes(timer) && timers.splice(timers.indexOf(timer), 1))
const settle = () => new Promise((resolve) => setImmediate(resolve))
async function tick() {
  const { body, ms } = timers.shift()
  body()
  await settle()
  return ms
}

const beacons = []
let takesBeacons = true
const navigator = { sendBeacon: (url, blob) => takesBeacons && beacons.push(blob) > 0 }
Object.defineProperty(globalThis, 'navigator', { value: navigator, configurable: true })

function setUp(...answers) {
  timers.length = beacons.length = 0
  takesBeacons = true
  resetLosses()
  const posts = []
  const sender = makeSender('/events', 1000, async (url, request) => {
    posts.push({ url, ...request })
    const answer = answers.shift() ?? 200
    if (answer === 'network') throw new TypeError('failed')
    if (answer === 'never') return new Promise(() => {})
    return { ok: answer < 300, status: answer }
  })
  return { sender, posts }
}

test('lines wait for each other, and go in one request that outlives the page and needs no preflight', async () => {
  const { sender, posts } = setUp()
  sender.add('a\n')
  sender.add('b\n')
  assert.equal(posts.length, 0)
  assert.equal(await tick(), 1000)
  assert.equal(posts[0].body, 'a\nb\n')
  assert.equal(posts[0].keepalive, true)
  assert.match(posts[0].headers['content-type'], /^text\/plain/)
  assert.equal(timers.length, 0)
})

test('one batch at a time, each within what browsers let outlive a page', async () => {
  const { sender, posts } = setUp()
  const line = 'x'.repeat(999) + '\n'
  for (let i = 0; i < 120; i++) sender.add(line)
  assert.equal(posts.length, 1)
  await settle()
  while (timers.length) await tick()
  assert.equal(posts.reduce((sum, { body }) => sum + body.length, 0), 120_000)
  assert.ok(posts.every(({ body }) => body.length <= 49_152))
})

test('no response or a server error: retried with growing delays, then dropped and counted', async () => {
  const { sender, posts } = setUp('network', 503, 429, 500)
  sender.add('a\n')
  sender.add('b\n')
  const waits = []
  while (timers.length) waits.push(await tick())
  assert.deepEqual(waits, [1000, 1000, 2000, 4000])
  assert.equal(new Set(posts.map(({ body }) => body)).size, 1)
  assert.deepEqual(losses(), { send_failed: 2 })
  sender.add('c\n')
  await tick()
  assert.equal(posts.at(-1).body, 'c\n')
  assert.deepEqual(losses(), { send_failed: 2 })
})

test('a refusal is final', async () => {
  const { sender, posts } = setUp(403)
  sender.add('a\n')
  await tick()
  assert.equal(posts.length, 1)
  assert.equal(timers.length, 0)
  assert.deepEqual(losses(), { refused: 1 })
})

test('the queue is bounded', async () => {
  const { sender } = setUp('never')
  const line = 'x'.repeat(1023) + '\n'
  for (let i = 0; i < 1000; i++) sender.add(line)
  const { queue_full } = losses()
  // One batch is in flight (49 lines: the one that passed the mark goes along in the next), 256 wait.
  assert.equal(queue_full, 1000 - 256 - 48)
})

test('at unload everything leaves by beacon: what waits, and the batch that waits for its retry', async () => {
  const { sender, posts } = setUp(503)
  sender.add('a\n')
  await tick()
  sender.add('b\n')
  sender.unload()
  assert.deepEqual(await Promise.all(beacons.map((b) => b.text())), ['a\n', 'b\n'])
  assert.match(beacons[0].type, /^text\/plain/)
  assert.equal(timers.length, 0)
  assert.equal(posts.length, 1)
  sender.unload()
  assert.equal(beacons.length, 2, 'once')
  assert.deepEqual(losses(), {})
})

test('a batch in flight at unload is not sent twice', async () => {
  const { sender } = setUp('never')
  sender.add('a\n')
  await tick()
  sender.add('b\n')
  sender.unload()
  assert.deepEqual(await Promise.all(beacons.map((b) => b.text())), ['b\n'])
})

test('a beacon the browser does not take is counted', () => {
  const { sender } = setUp()
  takesBeacons = false
  sender.add('a\n')
  sender.add('b\n')
  sender.unload()
  assert.deepEqual(losses(), { beacon_refused: 2 })
})
