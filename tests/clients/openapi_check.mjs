// api/openapi.yaml against the running server: the same routes with the same rights, and every answer, good or bad,
// has a status, a content type and a body that the file describes. A key that the file does not name is a failure.
import { randomBytes } from 'node:crypto';

import { OpenApi } from './lib/openapi.mjs';
import { check, finish } from './lib/results.mjs';
import { get, server } from './lib/server.mjs';

const api = new OpenApi(new URL('../../api/openapi.yaml', import.meta.url));
const hex = (bytes) => randomBytes(bytes).toString('hex');

// A trace that shows as much as possible: kinds, an error, attributes of all types, an event, a link, a parent that
// never comes, an end before its start, two hosts, a queue's producer and consumer.
const traceId = hex(16);
const root = hex(8);
const service = `openapi-${hex(4)}`;
const now = BigInt(Date.now()) * 1_000_000n - 60_000_000_000n;
const at = (micros) => String(now + BigInt(micros) * 1000n);
const span = (name, kind, begin, end, more = {}) => ({
  traceId, spanId: hex(8), parentSpanId: root, name, kind, startTimeUnixNano: at(begin), endTimeUnixNano: at(end), ...more,
});
const attribute = (key, value) => ({ key, value });
const resource = (name, host) => ({
  attributes: [
    attribute('service.name', { stringValue: name }),
    attribute('host.name', { stringValue: host }),
    attribute('process.pid', { intValue: '4711' }),
  ],
});
// The smallest recording (docs/reference/cpg-format.md): one thread that starts and exits.
function smallRecording() {
  const bytes = (size, ...fields) => {
    const out = Buffer.alloc(size);
    for (const [at, width, value] of fields) width === 8 ? out.writeBigUInt64LE(BigInt(value), at) : width === 4 ? out.writeUInt32LE(value, at) : out.writeUInt16LE(value, at);
    return out;
  };
  const [START, END, EXIT, NOBODY] = [1, 3, 51, 0xffffffff];
  const started = bytes(32, [0, 2, START], [4, 4, 32], [12, 4, NOBODY], [16, 8, 5]);
  const ended = bytes(32, [0, 2, END], [2, 2, EXIT], [4, 4, 32], [16, 8, 9000]);
  const payload = Buffer.concat([started, ended]);
  let sum = 0xcbf29ce484222325n;
  for (const byte of payload) sum = ((sum ^ BigInt(byte)) * 0x100000001b3n) & 0xffffffffffffffffn;
  const chunk = bytes(32, [0, 4, 0x6b6e6863], [4, 4, 1], [16, 4, payload.length], [20, 4, payload.length], [24, 8, sum]);
  const end = bytes(32, [0, 4, 0x6b6e6863], [4, 4, 4], [24, 8, 0xcbf29ce484222325n]);
  const head = bytes(40, [8, 4, 1], [12, 4, 1], [16, 8, now], [32, 4, 4711], [36, 4, 40]);
  head.write('WFCPG\r\n', 'latin1');
  return Buffer.concat([head, chunk, payload, end]);
}
const client = hex(8);
const sample = {
  resourceSpans: [
    {
      resource: resource(service, 'host-1'),
      scopeSpans: [{
        scope: { name: 'openapi', version: '1', attributes: [attribute('a', { boolValue: true })] },
        spans: [
          span('GET /', 2, 0, 1000, { spanId: root, parentSpanId: '', traceState: 'v=1', flags: 257 }),
          span('call', 3, 100, 900, {
            spanId: client,
            status: { code: 2, message: 'broken' },
            attributes: [
              attribute('user', { stringValue: 'u7' }),
              attribute('n', { intValue: '-5' }),
              attribute('d', { doubleValue: 0.5 }),
              attribute('nan', { doubleValue: 'NaN' }),
              attribute('raw', { bytesValue: 'AAEC' }),
              attribute('list', { arrayValue: { values: [{ intValue: '1' }, { stringValue: 'x' }] } }),
              attribute('map', { kvlistValue: { values: [attribute('k', { boolValue: false })] } }),
              attribute('thread.id', { intValue: '12' }),
            ],
            events: [{ timeUnixNano: at(500), name: 'retry', attributes: [attribute('attempt', { intValue: '2' })] }],
            links: [{ traceId: hex(16), spanId: hex(8), traceState: 'l=1', attributes: [attribute('why', { stringValue: 'batch' })] }],
          }),
          span('send', 4, 300, 310),
          span('orphan', 1, 400, 410, { parentSpanId: hex(8) }),
          span('backwards', 1, 600, 500),
        ],
      }],
    },
    {
      resource: resource(`${service}-backend`, 'host-2'),
      scopeSpans: [{ scope: {}, spans: [span('serve', 2, 200, 800, { parentSpanId: client })] }],
    },
  ],
};

await check('openapi: the sample is taken', async (assert) => {
  const response = await fetch(`http://${server.otlp_http}/v1/traces`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(sample),
  });
  assert.equal(response.status, 200);
});

const yaml = 'dataset: openapi\nrow: Trace\ncolumns: Trace | Duration | RecordAs("duration_ns")\n';
await check('openapi: a dataset is applied, filled and deleted', async (assert) => {
  const change = async (method, path, request, status, body) =>
    checkAnswer(path, method, status, await get(request, { method, body }), assert);
  const applied = await change('POST', '/api/v1/dataset/apply', '/api/v1/dataset/apply?name=openapi.yaml', 200, yaml);
  assert.equal(applied.saved, true);
  await change('POST', '/api/v1/dataset/apply', '/api/v1/dataset/apply', 400, 'dataset: 5 5');
  const filled = await change('POST', '/api/v1/dataset/backfill/{dataset}', '/api/v1/dataset/backfill/openapi', 200);
  assert.ok(filled.rows > 0);
  await change('POST', '/api/v1/dataset/backfill/{dataset}', '/api/v1/dataset/backfill/nothing', 404);
  await change('DELETE', '/api/v1/dataset/delete/{dataset}', '/api/v1/dataset/delete/openapi', 200);
  await change('DELETE', '/api/v1/dataset/delete/{dataset}', '/api/v1/dataset/delete/openapi', 404);
  await change('POST', '/api/v1/dataset/backfill/{dataset}', '/api/v1/dataset/backfill/calls', 200);
});

await check('openapi: a dashboard is saved and deleted', async (assert) => {
  const change = async (method, path, request, status, body) =>
    checkAnswer(path, method, status, await get(request, { method, body }), assert);
  const board = { title: 'Calls', charts: [{ title: 'Rate', dataset: 'calls', query: 'agg=count' }] };
  const saved = await change('PUT', '/api/v1/dashboards/{dashboard}', '/api/v1/dashboards/openapi', 200, JSON.stringify(board));
  assert.equal(saved.charts[0].wide, false);
  await change('PUT', '/api/v1/dashboards/{dashboard}', '/api/v1/dashboards/openapi', 400, '{"title":"no charts"}');
  await change('PUT', '/api/v1/dashboards/{dashboard}', '/api/v1/dashboards/openapi', 409, JSON.stringify({ ...board, revision: 'older' }));
  await change('PUT', '/api/v1/property-groups', '/api/v1/property-groups', 200, '{"groups":[{"name":"Page","keys":["label:url"]}],"revision":""}');
  await change('PUT', '/api/v1/property-groups', '/api/v1/property-groups', 409, '{"groups":[],"revision":""}');
  await change('PUT', '/api/v1/property-groups', '/api/v1/property-groups', 400, '{"groups":[{"name":"Page","keys":[]}]}');
  await change('PUT', '/api/v1/dashboards/{dashboard}', '/api/v1/dashboards/gone', 200, JSON.stringify(board));
  await change('DELETE', '/api/v1/dashboards/{dashboard}', '/api/v1/dashboards/gone', 200);
  await change('DELETE', '/api/v1/dashboards/{dashboard}', '/api/v1/dashboards/gone', 404);
});

await check('openapi: a tracepoint is defined, a query asks for it, and both go', async (assert) => {
  const change = async (method, path, request, status, body, token = true) =>
    checkAnswer(path, method, status, await get(request, { method, body, headers: token ? { authorization: `Bearer ${server.token}` } : {} }), assert);
  const one = '/api/v1/tracepoints/{name}';
  const definition = { version: 1, name: 'openapi', locations: [{ exe: 'no-such-program', function: 'f', at: 'entry' }], exports: { n: 'arg0' } };
  await change('PUT', one, '/api/v1/tracepoints/openapi', 403, JSON.stringify(definition), false);
  await change('PUT', one, '/api/v1/tracepoints/openapi', 400, '{}');
  assert.deepEqual(await change('PUT', one, '/api/v1/tracepoints/openapi', 200, JSON.stringify(definition)), definition);
  await change('GET', '/api/v1/tracepoints', '/api/v1/tracepoints', 200);
  await change('GET', one, '/api/v1/tracepoints/openapi', 200);
  await change('GET', one, '/api/v1/tracepoints/nothing', 404);
  const request = JSON.stringify({ query: 'From x In openapi Select COUNT', standing: true, name: 'openapi', dataset: 'openapi_rows' });
  await change('POST', '/api/v1/queries', '/api/v1/queries', 403, request, false);
  await change('POST', '/api/v1/queries', '/api/v1/queries', 400, '{"query":"From"}');
  const good = await change('POST', '/api/v1/queries/check', '/api/v1/queries/check', 200, request, false);
  assert.deepEqual(good.diagnostics, []);
  const faulty = await change('POST', '/api/v1/queries/check', '/api/v1/queries/check', 200, '{"query":"From x In nowhere Select COUNT"}', false);
  assert.equal(faulty.diagnostics.length, 1);
  await change('POST', '/api/v1/queries/check', '/api/v1/queries/check', 400, '{}', false);
  const query = await change('POST', '/api/v1/queries', '/api/v1/queries', 200, request);
  await change('GET', '/api/v1/queries', '/api/v1/queries', 200);
  await change('GET', '/api/v1/queries/{query}', `/api/v1/queries/${query.id}`, 200);
  await change('GET', '/api/v1/queries/{query}/stream', '/api/v1/queries/nothing/stream', 404);
  await change('GET', '/api/v1/queries/{query}/stream', `/api/v1/queries/${query.id}/stream?after_ns=x`, 400);
  await change('GET', '/api/v1/control', '/api/v1/control', 200);
  await change('POST', '/api/v1/control/report', '/api/v1/control/report', 200, JSON.stringify({ instance: 'openapi', results: [] }));
  await change('POST', '/api/v1/control/report', '/api/v1/control/report', 400, '{}');
  await change('DELETE', one, '/api/v1/tracepoints/openapi', 400);
  await change('DELETE', '/api/v1/queries/{query}', '/api/v1/queries/openapi', 403, undefined, false);
  await change('DELETE', '/api/v1/queries/{query}', '/api/v1/queries/openapi', 200);
  await change('DELETE', one, '/api/v1/tracepoints/openapi', 200);
  await change('DELETE', one, '/api/v1/tracepoints/openapi', 404);
});

await check('openapi: every reference resolves, every operation has its own id, path parameters are declared', (assert) => {
  for (const reference of api.references()) api.resolve({ $ref: reference });
  const ids = api.operations().map(({ operation }) => operation.operationId);
  assert.equal(new Set(ids).size, ids.length);
  for (const { path, operation } of api.operations()) {
    const inPath = [...path.matchAll(/{(\w+)}/g)].map((match) => match[1]);
    const declared = (operation.parameters ?? []).map((p) => api.resolve(p)).filter((p) => p.in === 'path').map((p) => p.name);
    assert.deepEqual(declared, inPath, path);
  }
});

// The server's last {…} takes the rest of a path, so one of its routes may be several paths of the file; under /api/v1
// they are the same.
const shape = (path) => path.replace(/{\w+}/g, '{}');
const covers = (route, path) => {
  if (shape(route) === shape(path)) return true;
  return route.endsWith('}') && !route.startsWith('/api/v1/') && path.startsWith(route.slice(0, route.indexOf('{')));
};
let routes = [];
await check('openapi: every route of the server is in the file', async (assert) => {
  routes = JSON.parse((await get('/api/v1/routes')).text);
  assert.ok(routes.length > 10);
  const missing = routes.filter((route) => !api.operations().some(({ path, method }) => method === route.method && covers(route.path, path)));
  assert.deepEqual(missing, []);
});
await check('openapi: every path of the file is a route of the server', (assert) => {
  const missing = api.operations().filter(({ path, method }) => !routes.some((route) => route.method === method && covers(route.path, path)));
  assert.deepEqual(missing.map(({ path, method }) => `${method} ${path}`), []);
});
await check('openapi: the rights are those of the server', (assert) => {
  for (const { path, method, operation } of api.operations()) {
    const route = routes.find((entry) => entry.method === method && covers(entry.path, path));
    assert.equal(operation['x-right'] ?? 'read', route.right, `${method} ${path}`);
  }
});

const q = (values) => `?${new URLSearchParams(values)}`;
const window = { start: String((now - 60_000_000_000n) / 1000n), end: String((now + 60_000_000_000n) / 1000n) };
const rfc3339 = (nanos) => new Date(Number(nanos / 1_000_000n)).toISOString();
const v3window = { 'query.start_time_min': rfc3339(now - 60_000_000_000n), 'query.start_time_max': rfc3339(now + 60_000_000_000n) };
const unknown = hex(16);
const recording = JSON.parse((await get('/api/v1/import?name=small.cpg', { method: 'POST', body: smallRecording() })).text).trace_ids?.[0];

// What is asked: [path of the file, status, request], and what more must be true of the body.
const questions = [
  ['/api/v1/traces', 200, `/api/v1/traces${q({ service })}`, (body, assert) => assert.equal(body.traces[0].trace_id, traceId)],
  ['/api/v1/traces', 200, '/api/v1/traces?limit=1'],
  ['/api/v1/traces', 200, `/api/v1/traces${q({ service: 'nobody' })}`, (body, assert) => assert.deepEqual(body, { traces: [], next: null })],
  ['/api/v1/traces', 200, `/api/v1/traces${q({ service, operation: 'call', attr: 'user=u7', status: 'error', min_duration: '100us', max_duration: '1h', since: '1h' })}`, (body, assert) => assert.equal(body.traces.length, 1)],
  ['/api/v1/traces', 200, `/api/v1/traces${q({ service, format: 'text' })}`],
  ['/api/v1/traces', 400, '/api/v1/traces?limit=0'],
  ['/api/v1/traces', 400, '/api/v1/traces?colour=red'],
  ['/api/v1/traces', 400, '/api/v1/traces?min_duration=fast'],
  ['/api/v1/traces', 400, '/api/v1/traces?cursor=zzz'],
  ['/api/v1/trace/{id}', 200, `/api/v1/trace/${traceId}`, (body, assert) => {
    for (const list of ['units', 'blocks', 'points', 'edges', 'repairs', 'missing', 'processes', 'roots']) {
      assert.ok(body[list].length > 0, `${list} is empty: the sample does not show it`);
    }
    assert.deepEqual(body.blocks.find((block) => block.name === 'call').attributes.raw, { bytes: 'AAEC' });
  }],
  ['/api/v1/trace/{id}', 200, `/api/v1/trace/${traceId}?clock=raw`, (body, assert) => assert.equal(body.clock, 'raw')],
  ['/api/v1/trace/{id}', 200, `/api/v1/trace/${traceId}?span=${client}`, (body, assert) => assert.equal(body.blocks.length, 1)],
  ['/api/v1/trace/{id}', 200, `/api/v1/trace/${traceId}?view=waterfall`, (body, assert) => assert.ok(body.blocks.span_id.length >= 6 && body.blocks.unit.length === body.blocks.span_id.length)],
  ['/api/v1/trace/{id}', 200, `/api/v1/trace/${traceId}?view=stacks`, (body, assert) => assert.equal(body.samples.stack.length, 0)],
  ['/api/v1/trace/{id}', 200, `/api/v1/trace/${traceId}?format=text`],
  ['/api/v1/trace/{id}', 404, `/api/v1/trace/${unknown}`],
  ['/api/v1/policies', 200, '/api/v1/policies', (body, assert) => assert.ok(Array.isArray(body.policies))],
  ['/api/v1/policies', 200, '/api/v1/policies?format=text'],
  ['/api/v1/policies', 400, '/api/v1/policies?colour=red'],
  ['/api/v1/control', 200, '/api/v1/control'],
  ['/api/v1/query', 200, `/api/v1/query${q({ q: `From s In call.end Where s.procName = "${service}" Select s.duration`, since: '1h' })}`, (body, assert) => assert.equal(body.rows.length, 1)],
  ['/api/v1/query', 200, `/api/v1/query${q({ q: 'From s In call.end Select COUNT', format: 'text' })}`],
  ['/api/v1/query', 400, `/api/v1/query${q({ q: 'From' })}`],
  ['/api/v1/queries', 200, '/api/v1/queries'],
  ['/api/v1/queries/{query}', 404, '/api/v1/queries/nothing'],
  ['/api/v1/queries/{query}/stream', 404, '/api/v1/queries/nothing/stream'],
  ['/api/v1/tracepoints', 200, '/api/v1/tracepoints'],
  ['/api/v1/tracepoints', 200, '/api/v1/tracepoints?format=text'],
  ['/api/v1/tracepoints', 400, '/api/v1/tracepoints?colour=red'],
  ['/api/v1/tracepoints/{name}', 404, '/api/v1/tracepoints/nothing'],
  ['/api/v1/trace/{id}', 404, `/api/v1/trace/${traceId}?span=${hex(8)}`],
  ['/api/v1/trace/{id}', 400, '/api/v1/trace/not-hex'],
  ['/api/v1/trace/{id}', 400, `/api/v1/trace/${traceId}?clock=sundial`],
  ['/api/v1/cpg/{id}', 200, `/api/v1/cpg/${recording}`, (body, assert) => assert.equal(body.threads, 1)],
  ['/api/v1/cpg/{id}', 200, `/api/v1/cpg/${recording}?what=graph`, (body, assert) => assert.equal(body.sub_computations.length, 1)],
  ['/api/v1/cpg/{id}', 200, `/api/v1/cpg/${recording}?what=graph&format=svg`],
  ['/api/v1/cpg/{id}', 200, `/api/v1/cpg/${recording}?what=order&a=0.0&b=0.0&format=text`],
  ['/api/v1/cpg/{id}', 400, `/api/v1/cpg/${recording}?what=races`],
  ['/api/v1/cpg/{id}', 400, `/api/v1/cpg/${recording}?what=weather`],
  ['/api/v1/cpg/{id}', 404, `/api/v1/cpg/${recording}?what=order&a=0.0&b=7.0`],
  ['/api/v1/cpg/{id}', 404, `/api/v1/cpg/${unknown}`],
  ['/api/v1/critical-path/{id}', 200, `/api/v1/critical-path/${traceId}`, (body, assert) => {
    assert.equal(body.root_span_id, root);
    assert.ok(body.segments.some((segment) => segment.category === 'network'));
  }],
  ['/api/v1/critical-path/{id}', 200, `/api/v1/critical-path/${traceId}${q([['from', root], ['to', `${client}:end`], ['clock', 'raw'], ['overlap_tolerance', '0'], ['what_if', 'type/network=0.5x'], ['what_if', 'type/self=2x']])}`, (body, assert) => assert.ok(body.what_if.matched > 0)],
  ['/api/v1/critical-path/{id}', 200, `/api/v1/critical-path/${traceId}?format=text`],
  ['/api/v1/critical-path/{id}', 404, `/api/v1/critical-path/${unknown}`],
  ['/api/v1/critical-path/{id}', 404, `/api/v1/critical-path/${traceId}?from=${client}:end&to=${root}:start`],
  ['/api/v1/critical-path/{id}', 400, `/api/v1/critical-path/${traceId}?from=${root}:middle`],
  ['/api/v1/critical-path', 200, `/api/v1/critical-path${q({ service, what_if: 'type/network=0x' })}`, (body, assert) => {
    assert.equal(body.traces, 1);
    assert.equal(body.requests[0].what_if.duration_ns, body.what_if.duration_ns);
  }],
  ['/api/v1/critical-path', 200, `/api/v1/critical-path${q({ service: 'nobody' })}`, (body, assert) => assert.equal(body.traces, 0)],
  ['/api/v1/critical-path', 200, `/api/v1/critical-path${q({ service, format: 'text' })}`],
  ['/api/v1/critical-path', 400, '/api/v1/critical-path?what_if=faster'],
  ['/api/v1/explain/{id}', 200, `/api/v1/explain/${traceId}`, (body, assert) => {
    assert.equal(body.delay_ns, 1_000_000);
    assert.equal(body.sizes, undefined);
    assert.ok(body.vertices.some((vertex) => vertex.node === `${service}-backend` && vertex.functional));
  }],
  ['/api/v1/explain/{id}', 200, `/api/v1/explain/${traceId}${q([['from', `${client}:start`], ['to', `${client}:end`], ['stats', 'true'], ['baseline', 'true'], ['no_aggregate', 'true'], ['what_if', 'serve=0.5x']])}`, (body, assert) => {
    assert.ok(body.sizes.raw > 0);
    assert.ok(body.what_if.matched > 0);
  }],
  ['/api/v1/explain/{id}', 200, `/api/v1/explain/${traceId}?raw=true`],
  ['/api/v1/explain/{id}', 200, `/api/v1/explain/${traceId}?format=text`],
  ['/api/v1/explain/{id}', 200, `/api/v1/explain/${traceId}?format=dot`],
  ['/api/v1/explain/{id}', 200, `/api/v1/explain/${traceId}?format=svg`],
  ['/api/v1/explain/{id}', 404, `/api/v1/explain/${unknown}`],
  ['/api/v1/explain/{id}', 404, `/api/v1/explain/${traceId}?from=${client}:end&to=${root}:start`],
  ['/api/v1/explain/{id}', 400, `/api/v1/explain/${traceId}?from=${root}:middle`],
  ['/api/v1/explain', 200, `/api/v1/explain${q({ service, operation: 'GET /', since: '1h', slowest: '3' })}`, (body, assert) => {
    assert.deepEqual(body.requests, [traceId]);
  }],
  ['/api/v1/explain', 404, `/api/v1/explain${q({ service, operation: 'nothing' })}`],
  ['/api/v1/explain', 400, `/api/v1/explain${q({ service })}`],
  ['/api/v1/paths', 404, '/api/v1/paths'],
  ['/api/v1/paths', 400, '/api/v1/paths?algorithm=guessing'],
  ['/api/v1/paths', 400, '/api/v1/paths?histogram=yes'],
  ['/api/v1/feature/{action}', 200, `/api/v1/feature/check${q({ program: 'Blocks | Bogus' })}`, (body, assert) => assert.equal(body.diagnostics.length, 1)],
  ['/api/v1/feature/{action}', 200, `/api/v1/feature/check${q({ program: 'Blocks', format: 'text' })}`],
  ['/api/v1/feature/{action}', 200, `/api/v1/feature/run${q({ trace: traceId, program: 'Blocks | Count | RecordAs("n")' })}`, (body, assert) => assert.ok(body.rows[0].n >= 6)],
  ['/api/v1/feature/{action}', 400, '/api/v1/feature/run'],
  ['/api/v1/feature/{action}', 404, `/api/v1/feature/run${q({ trace: unknown, program: 'Blocks' })}`],
  ['/api/v1/resource', 200, `/api/v1/resource${q({ host: 'host-1', since: '1h' })}`, (body, assert) => assert.ok(body.spans.some((entry) => entry.trace_id === traceId))],
  ['/api/v1/resource', 200, `/api/v1/resource${q({ host: 'host-1', thread: '12', pid: '4711' })}`],
  ['/api/v1/resource', 400, '/api/v1/resource'],
  ['/api/v1/dashboards', 200, '/api/v1/dashboards', (body, assert) => assert.deepEqual(body.dashboards.map((entry) => entry.name), ['openapi'])],
  ['/api/v1/dashboards/{dashboard}', 200, '/api/v1/dashboards/openapi'],
  ['/api/v1/dashboards/{dashboard}', 404, '/api/v1/dashboards/nothing'],
  ['/api/v1/property-groups', 200, '/api/v1/property-groups', (body, assert) => assert.deepEqual(body.groups, [{ name: 'Page', keys: ['label:url'] }])],
  ['/api/v1/dataset/compare/{dataset}', 200, `/api/v1/dataset/compare/calls${q({ a: 'rest', b: 'error = false' })}`],
  ['/api/v1/dataset/compare/{dataset}', 400, `/api/v1/dataset/compare/calls${q({ a: 'rest', b: 'rest' })}`],
  ['/api/v1/dataset/list', 200, '/api/v1/dataset/list', (body, assert) => assert.ok(body.datasets.some((entry) => entry.dataset === 'calls' && entry.standing))],
  ['/api/v1/dataset/list', 200, '/api/v1/dataset/list?format=text'],
  ['/api/v1/dataset/columns/{dataset}', 200, '/api/v1/dataset/columns/calls', (body, assert) => assert.ok(body.columns.some((entry) => entry.name === 'duration_ns'))],
  ['/api/v1/dataset/columns/{dataset}', 404, '/api/v1/dataset/columns/nothing'],
  ['/api/v1/dataset/query/{dataset}', 200, `/api/v1/dataset/query/calls${q({ where: `service = "${service}"`, group_by: 'operation', agg: 'count, p95(duration_ns)' })}`, (body, assert) => assert.equal(body.rows[0].count, 1)],
  ['/api/v1/dataset/query/{dataset}', 200, '/api/v1/dataset/query/calls?limit=1'],
  ['/api/v1/dataset/query/{dataset}', 200, '/api/v1/dataset/query/calls?format=csv'],
  ['/api/v1/dataset/query/{dataset}', 200, '/api/v1/dataset/query/calls?format=parquet'],
  ['/api/v1/dataset/query/{dataset}', 400, `/api/v1/dataset/query/calls${q({ where: 'service >' })}`],
  ['/api/v1/dataset/query/{dataset}', 404, '/api/v1/dataset/query/nothing'],
  ['/api/v1/dataset/compare/{dataset}', 200, `/api/v1/dataset/compare/calls${q({ a: 'error = true', b: 'error = false', metric: 'duration_ns', show: 'all' })}`],
  ['/api/v1/dataset/compare/{dataset}', 400, '/api/v1/dataset/compare/calls'],
  ['/api/v1/dataset/sql', 200, `/api/v1/dataset/sql${q({ sql: 'SELECT count(*) AS n FROM calls' })}`, (body, assert) => assert.match(body.dialect, /^DuckDB/)],
  ['/api/v1/dataset/sql', 400, '/api/v1/dataset/sql?sql=DROP'],
  ['/api/v1/services', 200, '/api/v1/services', (body, assert) => assert.ok(body.services.includes(service))],
  ['/api/v1/services', 200, '/api/v1/services?format=text'],
  ['/api/v1/operations', 200, `/api/v1/operations${q({ service })}`, (body, assert) => assert.ok(body.operations.some((entry) => entry.name === 'call' && entry.kind === 'client'))],
  ['/api/v1/operations', 400, '/api/v1/operations'],
  ['/api/v1/attributes', 200, '/api/v1/attributes?prefix=us', (body, assert) => assert.ok(body.keys.includes('user'))],
  ['/api/v1/attributes', 400, '/api/v1/attributes?limit=many'],
  ['/api/v1/attributes/{key}', 200, '/api/v1/attributes/user?prefix=u', (body, assert) => assert.ok(body.values.includes('u7'))],
  ['/api/v1/attributes/{key}', 200, '/api/v1/attributes/nobody.has.this', (body, assert) => assert.deepEqual(body.values, [])],
  ['/api/v1/status', 200, '/api/v1/status', (body, assert) => assert.ok(body.store.spans >= 6)],
  ['/api/v1/status', 200, '/api/v1/status?format=text'],
  ['/api/v1/export', 200, '/api/v1/export?since=1h', (body, assert) => assert.ok(body.includes(traceId))],
  ['/api/v1/export', 200, '/api/v1/export?to=batches&since=1h'],
  ['/api/v1/export', 400, '/api/v1/export?to=stone'],
  ['/api/v1/routes', 200, '/api/v1/routes'],
  ['/healthz', 200, '/healthz'],
  ['/readyz', 200, '/readyz'],
  ['/metrics', 200, '/metrics'],
  ['/api/services', 200, '/api/services', (body, assert) => assert.ok(body.data.includes(service))],
  ['/api/services/{service}/operations', 200, `/api/services/${service}/operations`, (body, assert) => assert.ok(body.data.includes('call'))],
  ['/api/operations', 200, `/api/operations${q({ service, spanKind: 'client' })}`, (body, assert) => assert.deepEqual(body.data, [{ name: 'call', spanKind: 'client' }])],
  ['/api/operations', 400, '/api/operations'],
  ['/api/traces', 200, `/api/traces${q({ service, ...window })}`, (body, assert) => assert.equal(body.data[0].traceID, traceId)],
  ['/api/traces', 200, `/api/traces${q([['traceID', traceId], ['traceID', unknown]])}`, (body, assert) => assert.equal(body.errors[0].traceID, unknown)],
  ['/api/traces', 400, '/api/traces'],
  ['/api/traces/{id}', 200, `/api/traces/${traceId}`],
  ['/api/traces/{id}', 404, `/api/traces/${unknown}`],
  ['/api/traces/{id}', 400, '/api/traces/not-hex'],
  ['/api/dependencies', 200, `/api/dependencies${q({ service })}`, (body, assert) => assert.deepEqual(body.data, [{ parent: service, child: `${service}-backend`, callCount: 1 }])],
  ['/api/dependencies', 400, '/api/dependencies?lookback=long'],
  ['/api/metrics/{metric}', 501, '/api/metrics/latencies', (body, assert) => assert.equal(body.errors[0].code, 501)],
  ['/api/v3/services', 200, '/api/v3/services'],
  ['/api/v3/operations', 200, `/api/v3/operations${q({ service })}`],
  ['/api/v3/operations', 400, '/api/v3/operations'],
  ['/api/v3/traces', 200, `/api/v3/traces${q({ 'query.service_name': service, ...v3window })}`],
  ['/api/v3/traces', 400, `/api/v3/traces${q({ 'query.service_name': service })}`],
  ['/api/v3/traces', 404, `/api/v3/traces${q({ 'query.service_name': 'nobody', ...v3window })}`],
  ['/api/v3/traces/{id}', 200, `/api/v3/traces/${traceId}`],
  ['/api/v3/traces/{id}', 404, `/api/v3/traces/${unknown}`],
  ['/api/v3/traces/{id}', 400, '/api/v3/traces/not-hex'],
  ['/api/v1/whoami', 200, '/api/v1/whoami'],
];

function checkAnswer(path, method, expected, answer, assert) {
  assert.equal(answer.status, expected, answer.text.slice(0, 300));
  const type = answer.headers.get('content-type') ?? '';
  const schema = api.schemaFor(path, method, answer.status, type);
  const body = type.startsWith('application/json') ? JSON.parse(answer.text) : answer.text;
  api.validate(schema, body);
  return body;
}

for (const [path, status, request, more] of questions) {
  await check(`openapi: ${status} GET ${request.replaceAll(traceId, 'ID').replaceAll(unknown, 'UNKNOWN').replaceAll(service, 'SERVICE').replaceAll(client, 'SPAN').slice(0, 100)}`, async (assert) => {
    const body = checkAnswer(path, 'GET', status, await get(request), assert);
    more?.(body, assert);
  });
}

await check('openapi: every GET of the file was asked', (assert) => {
  const asked = new Set(questions.map(([path]) => path));
  assert.deepEqual(api.operations().filter(({ path, method }) => method === 'GET' && !asked.has(path)).map(({ path }) => path), []);
});

const post = (path, options = {}) => get(path, { method: 'POST', ...options });
const other = JSON.stringify(sample).replaceAll(traceId, hex(16));
await check('openapi: 200 POST /api/v1/import, and again', async (assert) => {
  const first = checkAnswer('/api/v1/import', 'POST', 200, await post('/api/v1/import?name=sample.json', { body: other }), assert);
  assert.deepEqual([first.files, first.traces, first.spans, first.duplicates], [1, 1, 6, 0]);
  const again = checkAnswer('/api/v1/import', 'POST', 200, await post('/api/v1/import?name=sample.json', { body: other }), assert);
  assert.deepEqual([again.spans, again.duplicates], [0, 6]);
});
await check('openapi: messages are imported, and GET /api/v1/paths tells their paths', async (assert) => {
  const lines = ['1 CALL A B 1', '3 CALL B C 2', '5 RET C B 2', '7 CALL B D 3', '9 RET D B 3', '11 RET B A 1'];
  const report = checkAnswer('/api/v1/import', 'POST', 200, await post('/api/v1/import?name=messages.txt', { body: `${lines.join('\n')}\n` }), assert);
  assert.deepEqual([report.messages, report.traces], [6, 1]);
  const ask = async (query, status = 200) => checkAnswer('/api/v1/paths', 'GET', status, await get(`/api/v1/paths${q(query)}`), assert);
  const plain = await ask({});
  assert.deepEqual(plain.patterns[0].root.children.map((child) => child.node), ['C', 'D']);
  assert.equal(plain.patterns[0].root.histogram, undefined);
  assert.equal(plain.timeline, undefined);
  const spread = await ask({ histogram: 'true', algorithm: 'nesting', sort: 'count', top: '1' });
  assert.deepEqual(spread.patterns[0].root.histogram.latency_ns.map((bin) => bin[2]), [1]);
  assert.deepEqual(spread.patterns[0].root.histogram.call_delay_ns, []);
  assert.equal(spread.timeline.spans.reduce((sum, span) => sum + span.count, 0), 1);
  assert.equal((await ask({ algorithm: 'convolution' })).algorithm, 'convolution');
  for (const format of ['text', 'dot', 'svg']) await ask({ format });
});
await check('openapi: 400 POST /api/v1/import of something else', async (assert) => {
  checkAnswer('/api/v1/import', 'POST', 400, await post('/api/v1/import', { body: 'a poem' }), assert);
});
await check('openapi: POST /api/v1/explain, with what is known of resources', async (assert) => {
  const rules = `workers:\n  - service: ${service}-backend\n    workers: 3\n    kind: asynchronous\n`;
  const one = `/api/v1/explain/${traceId}`;
  const body = checkAnswer('/api/v1/explain/{id}', 'POST', 200, await post(one, { body: rules }), assert);
  const workers = body.assumed.resources.find((entry) => entry.resource.startsWith(`workers of ${service}-backend`));
  assert.deepEqual([workers.servers, workers.servers_by, workers.kind, workers.kind_by], [3, 'config', 'asynchronous', 'config']);
  checkAnswer('/api/v1/explain/{id}', 'POST', 400, await post(one, { body: 'workers: 5' }), assert);
  const many = `/api/v1/explain${q({ service, operation: 'GET /' })}`;
  checkAnswer('/api/v1/explain', 'POST', 200, await post(many, { body: rules }), assert);
});
await check('openapi: 200 POST /api/v1/feature/run, with a text that it uses', async (assert) => {
  const body = JSON.stringify({ program: 'use "n"\nN | RecordAs("n")', library: { n: 'N = Points | Count' } });
  checkAnswer('/api/v1/feature/{action}', 'POST', 200, await post(`/api/v1/feature/run?trace=${traceId}`, { body }), assert);
});
await check('openapi: 403 POST /api/v1/flush without the token', async (assert) => {
  checkAnswer('/api/v1/flush', 'POST', 403, await post('/api/v1/flush'), assert);
});
await check('openapi: 200 POST /api/v1/flush with the token', async (assert) => {
  const headers = { authorization: `Bearer ${server.token}` };
  checkAnswer('/api/v1/flush', 'POST', 200, await post('/api/v1/flush', { headers }), assert);
});

await check('openapi: errors outside the file have the same form', async (assert) => {
  const schema = { $ref: '#/components/schemas/Error' };
  for (const [status, request] of [[404, get('/api/v1/nothing')], [405, post('/api/v1/traces')]]) {
    const answer = await request;
    assert.equal(answer.status, status);
    api.validate(schema, JSON.parse(answer.text));
  }
});

finish();
