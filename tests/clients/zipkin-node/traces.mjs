// Zipkin v2 JSON: what OpenTelemetry's Zipkin exporter sends, and, by hand, what Zipkin's own reporters send: a server
// that shares its client's span id.
import { ROOT_CONTEXT, SpanKind, trace } from '@opentelemetry/api';
import { ZipkinExporter } from '@opentelemetry/exporter-zipkin';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { randomBytes } from 'node:crypto';

import { check, finish } from '../lib/results.mjs';
import { getJson, server } from '../lib/server.mjs';
import { Recorder } from '../lib/spans.mjs';

const url = `http://${server.zipkin}/api/v2/spans`;
const hex = (bytes) => randomBytes(bytes).toString('hex');

await check('zipkin: OpenTelemetry\'s exporter', async (assert) => {
  const recorder = new Recorder(new ZipkinExporter({ url }));
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes({ 'service.name': 'zipkin shop' }),
    spanProcessors: [new BatchSpanProcessor(recorder)],
  });
  const tracer = provider.getTracer('zipkin-node');
  const second = Math.floor(Date.now() / 1000) - 60;
  const root = tracer.startSpan('get /', { kind: SpanKind.SERVER, startTime: [second, 5_000] }, ROOT_CONTEXT);
  const child = tracer.startSpan('get cart', {
    kind: SpanKind.CLIENT,
    startTime: [second, 1_000_000],
    attributes: { user: 'u7', n: 3 },
  }, trace.setSpan(ROOT_CONTEXT, root));
  child.addEvent('retry', undefined, [second, 1_500_000]);
  child.end([second, 3_000_000]);
  root.end([second, 4_000_000]);
  await provider.forceFlush();
  await provider.shutdown();
  assert.deepEqual(recorder.results, [{ code: 0 }]);

  const answer = await getJson(`/api/v1/trace/${root.spanContext().traceId}`);
  const [first, next] = answer.blocks;
  const at = (nanos) => `${second}${String(nanos).padStart(9, '0')}`;
  assert.equal(answer.blocks.length, 2);
  assert.deepEqual([first.span_id, first.parent_id, first.name, first.kind, first.service],
    [root.spanContext().spanId, null, 'get /', 'server', 'zipkin shop']);
  assert.deepEqual([next.span_id, next.parent_id, next.name, next.kind],
    [child.spanContext().spanId, first.span_id, 'get cart', 'client']);
  assert.deepEqual([first.raw_start_ns, first.raw_end_ns], [at(5_000), at(4_000_000)]);
  assert.deepEqual([next.raw_start_ns, next.raw_end_ns], [at(1_000_000), at(3_000_000)]);
  assert.equal(next.attributes.user, 'u7');
  assert.equal(next.attributes.n, '3'); // every Zipkin tag is a text
  const events = answer.points.filter((point) => point.type !== 'begin' && point.type !== 'end');
  assert.deepEqual(events.map((point) => [point.span_id, point.name, point.raw_time_ns]),
    [[next.span_id, 'retry', at(1_500_000)]]);
});

await check('zipkin: a server that shares its client\'s span id becomes its child', async (assert) => {
  const traceId = hex(16);
  const id = hex(8);
  const micros = Date.now() * 1000 - 60_000_000;
  const spans = [
    { traceId, id, name: 'call', kind: 'CLIENT', timestamp: micros, duration: 100, localEndpoint: { serviceName: 'a', ipv4: '10.0.0.1' } },
    { traceId, id, name: 'call', kind: 'SERVER', shared: true, timestamp: micros + 20, duration: 50, localEndpoint: { serviceName: 'b', ipv4: '10.0.0.1' } },
    { traceId, id: hex(8), parentId: id, name: 'work', timestamp: micros + 30, duration: 10, localEndpoint: { serviceName: 'b', ipv4: '10.0.0.1' } },
  ];
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(spans),
  });
  assert.equal(response.status, 202);
  const { blocks, repairs } = await getJson(`/api/v1/trace/${traceId}`);
  assert.equal(blocks.length, 3);
  const [client, serve, work] = blocks;
  assert.deepEqual([client.service, client.kind, client.parent_id], ['a', 'client', null]);
  assert.deepEqual([serve.service, serve.kind, serve.parent_id], ['b', 'server', client.span_id]);
  assert.deepEqual([work.name, work.parent_id], ['work', serve.span_id]);
  assert.ok(repairs.some((repair) => repair.pass === 'shared_span_id'), JSON.stringify(repairs));
});

await check('zipkin: malformed spans are refused with a reason', async (assert) => {
  const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '[{"traceId":' });
  assert.equal(response.status, 400);
  const { error } = await response.json();
  assert.equal(error.code, 'bad_input');
  assert.ok(error.message.length > 0);
});

finish();
