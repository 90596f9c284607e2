// Black boxes: patterns of generated messages, ranked and clustered; the tree and its timeline; a slow time compared with
// the usual one; convolution as a graph; inferred traces; no messages yet.
// parallel: yes
// needs: wherefore
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { api, canvasData, check, checkAxe, equal, eventually, everyLookInPlace, gate, ROOT, run, settled, shoot, startServer, test } from './harness.mjs'

const folder = mkdtempSync(join(tmpdir(), 'wherefore-paths-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
const binary = process.env.WHEREFORE ?? join(ROOT, 'build/release/wherefore')

// A little of the multi-tier system, moved so that it begins at `atSeconds`.
function messages(config, seed, atSeconds) {
  const short = readFileSync(join(ROOT, `config/generate/${config}.yaml`), 'utf8').replace(/duration_s: \d+/, 'duration_s: 16').replace(/parallel: \d+/, 'parallel: 4')
  const yaml = join(folder, `${config}.yaml`)
  const out = join(folder, `${config}.txt`)
  writeFileSync(yaml, short)
  execFileSync(binary, ['generate', yaml, '--seed', String(seed), '--out', out, '--truth', join(folder, 'truth')], { stdio: 'pipe' })
  const lines = readFileSync(out, 'utf8').trim().split('\n')
  const first = Number(lines[0].split('.')[0])
  return lines.map((line) => line.replace(/^\d+/, (s) => String(Number(s) - first + atSeconds)).replace(/ path=\S+/, '')).join('\n') + '\n'
}

const real = binary !== 'mock'
const NORMAL_AT = Math.floor(Date.now() / 1000) - 600
const SLOW_AT = NORMAL_AT + 40
const text = real ? messages('multi-tier', 1, NORMAL_AT) + messages('multi-tier-slow', 2, SLOW_AT) : ''
const [server, bare] = real ? await Promise.all([startServer(['--tailer', 'off']), startServer(['--tailer', 'off'])]) : []
if (real) await server.importText('messages.txt', text)

const param = (page, name) => new URL(page.url()).searchParams.get(name)
const drawn = async (page) => {
  await page.locator('.pattern-canvas canvas').waitFor()
  await settled(page)
}
const h1 = (page) => page.locator('h1').innerText()
// Only the real server infers paths.
const only = (name, body) => test(name, async (tools) => (real ? body(tools) : undefined))

only('patterns by total latency, similar ones in one row that unfolds; the answer comes first', async ({ open }) => {
  const page = await open({ url: `${server.url}/paths` })
  await drawn(page)
  const answer = await api(server, '/api/v1/paths?top=50')
  const own = answer.graph.nodes.map((n) => [n.node, n.visits * n.own_ns]).sort((a, b) => b[1] - a[1])
  check((await h1(page)).startsWith(`${own[0][0]} adds most: `), await h1(page))
  const byShape = new Map()
  for (const p of answer.patterns) byShape.set(p.shape, [...(byShape.get(p.shape) ?? []), p])
  const sums = [...byShape.values()].map((list) => ({ list, total: list.reduce((s, p) => s + p.total_latency_ns, 0) })).sort((a, b) => b.total - a.total)
  const alike = sums[0].list
  check(alike.length > 1, 'no two patterns are alike')
  const first = page.locator('.patterns-scroll .patterns-row').first()
  check((await first.innerText()).includes(`${alike.length} alike`), await first.innerText())
  // The chosen pattern's cluster is open.
  equal(await page.locator('.patterns-row.nested').count(), alike.length, 'rows of the open cluster')
  const top = [...alike].sort((a, b) => b.total_latency_ns - a.total_latency_ns)[0]
  check((await page.locator('.pattern-head').innerText()).includes(top.id), 'the costliest pattern is not the one shown')
  check((await page.locator('.tree-row', { hasText: 'adds most' }).innerText()).startsWith(top.adds_most.node), 'the mark is on another node')
  // Keyboard: from the first pattern down to the next, and into its tree.
  await page.locator('.patterns-row.nested button').first().focus()
  await page.keyboard.press('ArrowDown')
  await eventually(() => page.evaluate(() => document.activeElement.closest('[data-row]')?.dataset.row === '2'), 'ArrowDown does not go to the next row')
  await page.keyboard.press('Enter')
  await eventually(() => param(page, 'pattern') !== null && param(page, 'pattern') !== top.id, 'Enter does not choose the pattern')
  await page.locator('.tree-button[data-node="0"]').focus()
  await page.keyboard.press('ArrowDown')
  await page.getByRole('region', { name: 'Selected node' }).waitFor()
  await page.keyboard.press('Escape')
  await eventually(async () => (await page.locator('.panel').count()) === 0, 'Escape does not close the panel')
  await page.locator('.patterns-row.nested button').first().focus()
  await page.keyboard.press('ArrowLeft')
  await eventually(async () => (await page.locator('.patterns-row.nested').count()) === 0, 'ArrowLeft does not close the cluster')
  await page.getByLabel('Order').selectOption('count')
  await page.goto(`${server.url}/paths?sort=count`)
  await drawn(page)
  const counts = await page.locator('.patterns-row.nested').evaluateAll((rows) => rows.map((r) => Number(r.children[1].textContent.replace(/,/g, ''))))
  check(counts.length > 1 && counts.every((n, i) => i === 0 || n <= counts[i - 1]), `not by count: ${counts}`)
})

only('a slow time compared with the usual one: the node that grew is named in the sentence, the table, the tree and its panel', async ({ open }) => {
  const page = await open({ url: `${server.url}/paths` })
  await drawn(page)
  await page.getByRole('button', { name: 'Compare slow with usual' }).click()
  await page.getByLabel('Usual from').waitFor()
  await drawn(page)
  const since = Number(param(page, 'since').slice(0, -9))
  check(since > NORMAL_AT + 17 && since <= SLOW_AT, `the slow part begins at ${since - NORMAL_AT} s`)
  check(/ more than usual \(mean .*, usual .*\): WS2 adds \d+(\.\d)? ms of it$/.test(await h1(page)), await h1(page))
  const marked = page.locator('.tree-row', { hasText: 'grew most' })
  check((await marked.innerText()).startsWith('WS2'), await marked.innerText())
  const growth = Number(/\+(\d+) ms/.exec(await marked.innerText())[1])
  check(Math.abs(growth - 200) < 30, `WS2 grew by ${growth} ms, 200 ms were added`)
  await marked.getByRole('button', { name: 'WS2' }).click()
  const panel = page.getByRole('region', { name: 'Selected node' })
  await panel.getByText('between AUTH and AP').waitFor()
  equal(await panel.locator('.delay-chart').count(), 2, 'latency and own time')
  equal(await panel.locator('.delay-usual').count(), 2, 'how they usually are')
  await checkAxe(page, 'paths compared')
  await shoot(page, 'paths-compared')
  const copy = await open({ url: page.url() })
  await copy.locator('.delay-chart').first().waitFor()
  await drawn(copy)
  await page.mouse.move(0, 0)
  await settled(page)
  equal(await h1(copy), await h1(page), 'the sentence behind the same URL')
  equal(await canvasData(copy, '.pattern-canvas canvas'), await canvasData(page, '.pattern-canvas canvas'), 'the timeline behind the same URL')
  await page.getByRole('button', { name: 'Stop comparing' }).click()
  await eventually(async () => (await h1(page)).includes('adds most'), 'the comparison does not end', 15_000)
  // The same by hand: what is dragged over is what is compared.
  const strip = await page.locator('.window-strip').boundingBox()
  await page.mouse.move(strip.x + strip.width * 0.6, strip.y + 20)
  await page.mouse.down()
  await page.mouse.move(strip.x + strip.width - 2, strip.y + 20)
  await page.mouse.up()
  await page.getByRole('button', { name: 'Show only this' }).click()
  await eventually(() => Number(param(page, 'since')?.slice(0, -9)) >= NORMAL_AT + 17 && param(page, 'until') !== null && param(page, 'normal') === null, 'the part dragged over is not looked at')
})

only('from a pattern to its inferred traces, which show that they are inferred, and their probability', async ({ open }) => {
  const page = await open({ url: `${server.url}/paths` })
  await drawn(page)
  await page.getByRole('link', { name: 'Its traces' }).click()
  await page.waitForURL(/\/search\?service=WS\d&operation=request\+from\+client/)
  await page.locator('.traces-row a').first().click()
  await page.waitForURL(/\/trace\/[0-9a-f]{32}/)
  await page.getByText(/spans in \d services, inferred from messages/).waitFor()
  const id = /trace\/([0-9a-f]{32})/.exec(page.url())[1]
  const waterfall = await api(server, `/api/v1/trace/${id}?view=waterfall`)
  check(waterfall.blocks.flags.every((f) => (f & 16) !== 0 && (f & 2) === 0), `inferred spans are no stand-ins: ${waterfall.blocks.flags}`)
  const block = (await api(server, `/api/v1/trace/${id}?span=${waterfall.blocks.span_id[1]}`)).blocks[0]
  equal(block.source, 'inferred', 'the source')
  await page.goto(`${server.url}/trace/${id}?span=${waterfall.blocks.span_id[1]}`)
  await page.locator('.note', { hasText: 'Inferred from messages alone' }).getByText(/%/).waitFor()
  await settled(page)
  await shoot(page, 'paths-inferred-trace')
})

only('convolution is a graph with the delays of each edge, and can be downloaded as SVG and DOT', async ({ open }) => {
  const page = await open({ url: `${server.url}/paths?algorithm=convolution` })
  await page.locator('.path-graph .vertex').first().waitFor()
  const answer = await api(server, '/api/v1/paths?algorithm=convolution')
  equal(await page.locator('.path-graph .vertex').count(), answer.vertices.length, 'vertices')
  const edge = [...answer.edges].sort((a, b) => b.delays_ns.length - a.delays_ns.length)[0]
  await page.locator(`.path-graph .vertex[data-vertex="${answer.vertices.findIndex((v) => v.id === edge.to)}"]`).focus()
  await page.keyboard.press('Enter')
  const rows = page.getByRole('region', { name: 'Selected node' }).locator('.section').first().locator('tr')
  equal(await rows.count(), edge.delays_ns.length, 'delays of the edge')
  await checkAxe(page, 'convolution')
  await shoot(page, 'paths-convolution')
  await page.keyboard.press('3')
  await page.getByRole('region', { name: 'Edges as a table' }).waitFor()
  equal(await page.locator('.grid tbody tr').count(), answer.edges.length, 'edges in the table')
  for (const [name, type] of [['SVG', 'image/svg+xml'], ['DOT', 'text/vnd.graphviz']]) {
    const href = await page.getByRole('link', { name }).getAttribute('href')
    for (const path of [href, href.replace('algorithm=convolution', 'algorithm=nesting')]) {
      const picture = await fetch(server.url + path)
      check(picture.headers.get('content-type').startsWith(type), `${path}: ${picture.headers.get('content-type')}`)
      check((await picture.text()).includes('WS2'), `${path} names no node`)
    }
  }
})

only('no messages yet: says how to get them, and takes an upload', async ({ open }) => {
  const page = await open({ url: `${bare.url}/paths`, expectFailures: true })
  await page.getByText('No messages stored yet.').waitFor()
  await page.getByText('wherefore import capture.pcap').waitFor()
  await checkAxe(page, 'no messages')
  await shoot(page, 'paths-empty')
  const [chooser] = await Promise.all([page.waitForEvent('filechooser'), page.getByRole('button', { name: 'Upload messages' }).click()])
  const file = join(folder, 'small.txt')
  writeFileSync(file, '1 CALL A B 1\n3 CALL B C 2\n5 RET C B 2\n7 CALL B D 3\n9 RET D B 3\n11 RET B A 1\n')
  await chooser.setFiles(file)
  const done = page.getByRole('dialog')
  await done.getByText('6 messages').waitFor()
  await done.getByRole('link', { name: 'Their paths' }).click()
  await drawn(page)
  equal(await page.locator('.tree-button').allInnerTexts().then((t) => t.join(' ')), 'B → C, D B C D', 'the pattern and its tree')
})

only('a rare slow pattern has its own list', async ({ open }) => {
  const lines = []
  for (let i = 0; i < 150; i++) {
    lines.push(`${100 + i}.0 CALL U V ${3 * i}`, `${100 + i}.01 CALL V X ${3 * i + 1}`, `${100 + i}.02 RET X V ${3 * i + 1}`)
    if (i === 70) lines.push(`${100 + i}.03 CALL V archive ${3 * i + 2}`, `${100 + i}.83 RET archive V ${3 * i + 2}`)
    lines.push(`${100 + i}.${i === 70 ? '84' : '03'} RET V U ${3 * i}`)
  }
  await bare.importText('rare.txt', `${lines.join('\n')}\n`)
  const page = await open({ url: `${bare.url}/paths?since=${100e9}` })
  await page.getByRole('button', { name: '1 rare and slow' }).click()
  await eventually(() => param(page, 'rare') === '1', 'the list is not in the URL')
  await drawn(page)
  equal(await page.locator('.patterns-scroll .tree-button').allInnerTexts().then((t) => t.join()), 'V → X, archive', 'the rare pattern')
  check((await page.locator('.tree-row', { hasText: 'adds most' }).innerText()).startsWith('archive'), 'archive is not marked')
})

only('waiting is shown, a failure can be retried', async ({ open }) => {
  const page = await open({ url: `${server.url}/status`, expectFailures: true })
  const answered = gate()
  let fails = true
  await page.route('**/api/v1/paths?**', async (route) => {
    if (!fails) return route.continue()
    await answered.until
    return route.fulfill({ status: 503, contentType: 'application/json', body: '{"error":{"code":"overloaded","message":"The store is behind.","hint":"Ask again."}}' })
  })
  await page.getByRole('link', { name: 'Paths', exact: true }).click()
  await page.getByText('Inferring paths…').waitFor()
  answered.open()
  await page.getByRole('alert').getByText('The store is behind.').waitFor()
  fails = false
  await page.getByRole('button', { name: 'Try again' }).click()
  await drawn(page)
})

only('both themes, both sizes, no serious finding', async ({ open }) => {
  await everyLookInPlace(open, `${server.url}/paths`, 'paths', drawn)
  const page = await open({ url: `${server.url}/paths?view=graph` })
  await page.locator('.path-graph .vertex').first().waitFor()
  await checkAxe(page, 'the graph of all patterns')
  await shoot(page, 'paths-graph')
})

await run()
