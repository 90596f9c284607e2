// Jaeger's own client for Node.js sends Thrift over HTTP, as Jaeger's collector takes it.
import jaeger from 'jaeger-client';
import { hostname } from 'node:os';

import { check, finish } from '../lib/results.mjs';
import { getJson, server } from '../lib/server.mjs';

const quiet = { info() {}, error: (text) => console.log(`    jaeger-client: ${text}`) };

await check('jaeger: Thrift from Jaeger\'s client', async (assert) => {
  const tracer = jaeger.initTracer({
    serviceName: 'jaeger shop',
    sampler: { type: 'const', param: 1 },
    reporter: { collectorEndpoint: `http://${server.jaeger}/api/traces`, flushIntervalMs: 100 },
    traceId128bit: true,
  }, { logger: quiet, tags: { zone: 'eu' } });
  const startTime = Date.now() - 60_000;
  const root = tracer.startSpan('GET /', { startTime, tags: { 'span.kind': 'server' } });
  const child = tracer.startSpan('call', {
    childOf: root.context(),
    startTime: startTime + 1,
    tags: { 'span.kind': 'client', text: 'ü', flag: true, number: 2.5, error: true },
  });
  child.log({ event: 'retry', attempt: 2 }, startTime + 2);
  const after = tracer.startSpan('later', { references: [jaeger.opentracing.followsFrom(root.context())], startTime: startTime + 20 });
  child.finish(startTime + 9);
  root.finish(startTime + 10);
  after.finish(startTime + 25);
  await new Promise((resolve) => tracer.close(resolve));

  const answer = await getJson(`/api/v1/trace/${root.context().traceIdStr}`);
  const byName = Object.fromEntries(answer.blocks.map((block) => [block.name, block]));
  const [top, call, later] = ['GET /', 'call', 'later'].map((name) => byName[name]);
  const at = (millis) => `${startTime + millis}000000`;
  assert.equal(answer.blocks.length, 3);
  assert.deepEqual([top.parent_id, top.kind, top.service], [null, 'server', 'jaeger shop']);
  assert.deepEqual([top.raw_start_ns, top.raw_end_ns], [at(0), at(10)]);
  assert.equal(top.span_id, root.context().spanIdStr.padStart(16, '0'));
  assert.deepEqual([call.parent_id, call.kind, call.reference, call.status], [top.span_id, 'client', 'child_of', 'error']);
  assert.deepEqual([call.raw_start_ns, call.raw_end_ns], [at(1), at(9)]);
  assert.equal(call.attributes.text, 'ü');
  assert.equal(call.attributes.flag, true);
  assert.equal(call.attributes.number, 2.5);
  assert.deepEqual([later.parent_id, later.reference], [top.span_id, 'follows_from']);
  const events = answer.points.filter((point) => point.span_id === call.span_id && point.type !== 'begin' && point.type !== 'end');
  assert.equal(events.length, 1);
  assert.equal(events[0].raw_time_ns, at(2));
  assert.equal(events[0].name, 'retry');
  assert.equal(events[0].attributes.attempt, 2);
  assert.deepEqual([answer.processes[0].service, answer.processes[0].host, answer.processes[0].attributes.zone],
    ['jaeger shop', hostname(), 'eu']);
});

await check('jaeger: malformed Thrift is refused with a reason', async (assert) => {
  const response = await fetch(`http://${server.jaeger}/api/traces`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-thrift' },
    body: Buffer.from([0x0c, 0xff, 0x00]),
  });
  assert.equal(response.status, 400);
  assert.equal((await response.json()).error.code, 'bad_input');
});

finish();
