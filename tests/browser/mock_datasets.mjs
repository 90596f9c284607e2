// The dataset API with made-up tables, as a `behave` of the mock server: `pages` is small, `huge` is not. It answers by
// the shape of the question only (rows, groups, series) and filters nothing.
const NOW = BigInt(Date.now()) * 1_000_000n
const COLUMNS = [
  ['trace_id', 'text'], ['time_ns', 'int'], ['row_key', 'text'], ['complete', 'bool'], ['duration_ns', 'int'], ['service', 'text'], ['version', 'text'], ['stack', 'stack'],
].map(([name, type], i) => ({ name, type, queries: 20 - i }))

const wave = (i) => Math.round(40e6 * (1 + Math.abs(Math.sin(i / 7))) + ((i * 7919) % 1000) * 1e5)

export function datasetMock() {
  const dashboards = new Map()
  const ok = (body) => ({ status: 200, body })
  const summary = (name, rows) => ({ dataset: name, owner: 'web', standing: false, definition: '', rows, bytes: rows * 40, oldest_ns: NOW - 3_600_000_000_000n, newest_ns: NOW, subsampled_before_ns: null, fault: '' })
  return (path, url) => {
    const [, action, name] = /^\/api\/v1\/dataset\/(\w+)(?:\/(.+))?$/.exec(path) ?? []
    const q = url.searchParams
    const huge = name === 'huge'
    if (path === '/api/v1/dashboards') return ok({ dashboards: [...dashboards.values()] })
    if (action === 'list') return ok({ datasets: [summary('huge', 50_000_000), summary('pages', 600), summary('calls', 600)] })
    if (action === 'columns') {
      const more = huge ? Array.from({ length: 392 }, (_, i) => ({ name: `feature_${i}`, type: 'double', queries: 0 })) : []
      return ok({ dataset: name, columns: [...COLUMNS, ...more] })
    }
    if (action === 'compare') return ok({ n_a: 300, n_b: 300, columns: [], metric: { column: 'duration_ns', value: null, effect: 0, p: 0.8, q: 0.8, question: 'shift', a: 5e7, b: 5e7 } })
    if (action !== 'query') return null
    const groups = (q.get('group_by') ?? '').split(',').filter(Boolean)
    const aggs = (q.get('agg') ?? '').split(',').filter(Boolean)
    if (aggs.length === 0 && !q.get('bucket')) {
      const n = Math.min(Number(q.get('limit') ?? 1000), huge ? 50_000 : 600)
      const names = q.get('columns')?.split(',') ?? COLUMNS.map((c) => c.name)
      const cell = { trace_id: (i) => i.toString(16).padStart(32, '0'), time_ns: (i) => NOW - BigInt(i) * 70_000_000n, row_key: () => '', complete: () => true, duration_ns: wave, service: (i) => `service-${i % 7}`, version: (i) => `1.${i % 3}`, stack: (i) => `main\nf${i % 9}` }
      return ok({ columns: names.map((c) => COLUMNS.find((x) => x.name === c) ?? { name: c, type: 'double' }), rows: Array.from({ length: n }, (_, i) => Object.fromEntries(names.map((c) => [c, cell[c]?.(i) ?? i]))), ...(huge ? { more: true } : {}) })
    }
    const series = Boolean(q.get('bucket'))
    const n = groups.length === 0 && !series ? 1 : huge ? 5000 : series ? 60 : 7
    const value = (agg, i) => (agg === 'count' ? 1 + (i % 50) : wave(i))
    return ok({
      columns: [...(series ? [{ name: 'time_ns', type: 'int' }] : []), ...groups.map((g) => COLUMNS.find((x) => x.name === g) ?? { name: g, type: 'text' }), ...aggs.map((a) => ({ name: a, type: 'int' }))],
      rows: Array.from({ length: n }, (_, i) => ({
        ...(series ? { time_ns: NOW - BigInt(60 - (i % 60)) * 60_000_000_000n } : {}),
        ...Object.fromEntries(groups.map((g, k) => [g, g === 'stack' ? `main\nf${i % 90}\ng${i}` : `${g}-${k === 0 ? i : i % 40}`])),
        ...Object.fromEntries(aggs.map((a) => [a, value(a, i)])),
      })),
    })
  }
}
