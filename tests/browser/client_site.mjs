// A small web site with the browser client on its pages, and the endpoint that takes what the client sends. The site
// is a traced server itself: it continues the trace of each request for data, answers with `traceresponse`, and keeps
// its spans as OTLP would have them.
import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const DIST = fileURLToPath(new URL('../../client/browser/dist/', import.meta.url))

const css = (name, bytes) => `/* ${name} */\n`.padEnd(bytes - 40, 'x'.repeat(60) + '\n').replace(/^x+$/gm, (line) => `/*${line.slice(4)}*/`) + '\n#tall { height: 6000px }\n'
export const FILES = {
  '/style.css': ['text/css', css('style', 6000)],
  '/late.css': ['text/css', css('late', 3000)],
  '/pic.svg': ['image/svg+xml', `<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40"><title>${'p'.repeat(2000)}</title></svg>`],
}
const page = (options, script) => `<!doctype html><html lang="en"><head><title>Site</title>
<script src="/wherefore.iife.js" data-options='${JSON.stringify(options)}'></script>
<link rel="stylesheet" href="/style.css"><link rel="icon" href="data:,"></head>
<body><h1>Site</h1><img src="/pic.svg" alt=""><button id="buy">Buy</button><a id="away" href="/gone">Away</a>
<div id="tall"></div><script src="${script}"></script></body></html>`

// The page's scripts by name.
const SCRIPTS = {
  '/app.js': `
    const work = (ms) => { for (const until = performance.now() + ms; performance.now() < until; ); }
    work(60) // before and after: the browser rounds the bounds of a long task
    wherefore.block('render', () => wherefore.block('render list', () => work(1), { piece: 'List' }), { piece: 'Page' })
    work(30)
    document.getElementById('buy').addEventListener('click', async () => {
      const answer = await fetch('/api/data?secret=1', { headers: { 'x-own': '1' } })
      document.title = await answer.text()
      wherefore.mark('bought')
    })
    addEventListener('load', () => requestAnimationFrame(() => performance.mark('display_done')))`,
}

export async function startSite({ navigationTiming, skewNs = 0n } = {}) {
  // The site's clock, which may be off.
  const nowNs = () => BigInt(Math.round((performance.timeOrigin + performance.now()) * 1000)) * 1000n + skewNs
  const received = [] // {line, how}
  const requests = [] // {path, headers}
  const spans = []
  const sockets = new Set()
  const site = { received, requests, spans, status: 200, decision: '01', scripts: { ...SCRIPTS }, options: {}, answerData: null }

  // Continues the trace of a request, if it has one, or starts one.
  function span(traceparent, name, startNs) {
    const [, traceId = randomBytes(16).toString('hex'), parentSpanId] = (traceparent ?? '').split('-')
    const made = { traceId, spanId: randomBytes(8).toString('hex'), parentSpanId, name, kind: 2, startTimeUnixNano: String(startNs), endTimeUnixNano: String(nowNs()) }
    spans.push(made)
    return made
  }

  const server = createServer(async (request, response) => {
    const startNs = nowNs()
    const { pathname } = new URL(request.url, 'http://site')
    const send = (status, type, body, headers = {}) => {
      response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body), 'cache-control': 'no-store', ...headers })
      response.end(body)
    }
    requests.push({ path: request.url, method: request.method, headers: request.headers })
    const cors = { 'access-control-allow-origin': request.headers.origin ?? '*', 'access-control-allow-headers': 'traceparent,tracestate,x-own', 'access-control-expose-headers': 'traceresponse', 'timing-allow-origin': '*' }
    if (request.method === 'OPTIONS') return send(204, 'text/plain', '', cors)
    if (pathname === '/api/v1/events') {
      let body = ''
      for await (const piece of request) body += piece
      if (site.status === 200) for (const line of body.split('\n')) if (line) received.push({ line, mode: request.headers['sec-fetch-mode'], type: request.headers['content-type'] })
      return send(site.status, 'application/json', '{}')
    }
    if (pathname === '/wherefore.js' || pathname === '/wherefore.iife.js') return send(200, 'text/javascript', await readFile(join(DIST, pathname)))
    if (FILES[pathname]) return send(200, ...FILES[pathname])
    if (site.scripts[pathname]) return send(200, 'text/javascript', site.scripts[pathname])
    if (pathname === '/api/data') {
      if (site.answerData) await site.answerData
      const made = span(request.headers.traceparent, 'GET /api/data', startNs)
      return send(200, 'text/plain', 'd'.repeat(1234), { ...cors, traceresponse: `00-${made.traceId}-${made.spanId}-${site.decision}` })
    }
    if (pathname === '/gone') return send(200, 'text/html', '<!doctype html><title>Gone</title><link rel="icon" href="data:,">', CSP)
    const timing = {}
    if (navigationTiming) {
      const made = span(undefined, 'GET /', startNs)
      timing['server-timing'] = `traceparent;desc="00-${made.traceId}-${made.spanId}-${navigationTiming}"`
    }
    return send(200, 'text/html', page(site.options, pathname === '/' ? '/app.js' : `${pathname}.js`), { ...CSP, ...timing })
  })
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  site.url = `http://127.0.0.1:${server.address().port}`
  site.events = () => received.map(({ line }) => JSON.parse(line))
  site.close = () => {
    for (const socket of sockets) socket.destroy()
    return new Promise((resolve) => server.close(resolve))
  }
  // The site's spans as its exporter would send them, of these traces.
  site.otlp = (traceIds) => ({
    resourceSpans: [{
      resource: { attributes: [{ key: 'service.name', value: { stringValue: 'site' } }, { key: 'host.name', value: { stringValue: 'site-1' } }] },
      scopeSpans: [{ spans: spans.filter((s) => traceIds.includes(s.traceId)) }],
    }],
  })
  return site
}

const CSP = { 'content-security-policy': "default-src 'self'; connect-src *; img-src 'self' data:" }
