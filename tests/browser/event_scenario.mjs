// A page load as wherefore events (JSON lines), for what spans cannot carry: execution units of several kinds, phase
// markers, stack samples, counters. Ids are 16 hex digits made from a counter, so that tests can name elements.

const MS = 1_000_000
const id = (n) => n.toString(16).padStart(16, '0')

class EventWriter {
  constructor(traceId, startNs) {
    this.traceId = traceId
    this.startNs = startNs
    this.lines = []
    this.next = 0xa00
  }

  // `at` is ns after the start of the trace.
  event(type, at, id1, id2, annotations) {
    const time = this.startNs + BigInt(Math.round(at))
    const line = { trace_id: this.traceId, type, id1, ...(id2 ? { id2 } : {}), seq: this.lines.length, time_ns: '@', ...(annotations ? { annotations } : {}) }
    this.lines.push(JSON.stringify(line).replace('"@"', time.toString()))
  }

  unit(name, service, host, thread, from, to, parent) {
    const unit = id(this.next++)
    this.event('unit_begin', from, unit, parent, { 'label:name': name, 'label:service': service, 'label:host': host, 'label:thread': thread })
    this.ends ??= []
    this.ends.push(['unit_end', to, unit])
    return unit
  }

  block(unit, name, from, to, annotations = {}, body = () => undefined) {
    const block = id(this.next++)
    this.event('block_begin', from, block, unit, { 'label:name': name, ...annotations })
    body(block)
    this.event('block_end', to, block, unit)
    return block
  }

  point(block, name, at, annotations = {}) {
    this.event('point', at, id(this.next++), block, { 'label:name': name, ...annotations })
  }

  text() {
    for (const [type, at, unit] of this.ends ?? []) this.event(type, at, unit)
    return this.lines.join('\n') + '\n'
  }
}

// Two browser units and three server workers. The renderer is sampled every millisecond: 100 samples, of which 60
// are in parse_css, 25 in layout under two callers, 15 in paint.
export function pageLoad(traceId, startNs, { samples = 100, slow = 1 } = {}) {
  const t = new EventWriter(traceId, startNs)
  const total = (samples + 40 * slow) * MS
  const main = t.unit('Client', 'browser', 'laptop', '1', 0, total)
  let request
  t.block(main, 'page', 0, total, { 'label:url': '/home', 'counter:bytes:B': '20480', 'set:experiments': 'early_flush' }, (page) => {
    t.block(main, 'navigate', 1 * MS, 38 * slow * MS, {}, (b) => (request = b))
    t.point(page, 'first byte', 30 * slow * MS, { 'label:marker': 'response_start' })
    const from = 40 * slow * MS
    t.block(main, 'render', from, total - 0.5 * MS, { 'counter:nodes': '312' }, (render) => {
      for (let i = 0; i < samples; i++) {
        const share = i / samples
        const stack = share < 0.6 ? 'main;event_loop;render;parse_css' : share < 0.75 ? 'main;event_loop;render;layout' : share < 0.85 ? 'main;event_loop;resize;layout' : 'main;event_loop;render;gfx::paint'
        t.point(render, 'sample', from + i * MS, { 'stack:cpu': stack })
      }
      t.point(render, 'interactive', total - 20 * MS, { 'label:marker': 'dom_interactive' })
      t.point(render, 'display done', total - 5 * MS, { 'label:marker': 'display_done' })
    })
  })
  for (let i = 0; i < 3; i++) {
    const from = (4 + 3 * i) * slow * MS
    const worker = t.unit('Worker', 'web', `web-${i + 1}`, String(7 + i), from, from + 20 * slow * MS, request)
    t.block(worker, `piece ${i}`, from, from + 20 * slow * MS, {}, () => t.block(worker, 'query', from + MS, from + 12 * slow * MS, {}))
  }
  return t.text()
}
