// The OpenTelemetry Node.js SDK sends a trace over every transport, plain and gzipped; all of it is found again.
import { CompressionAlgorithm } from '@opentelemetry/otlp-exporter-base';
import { OTLPTraceExporter as GrpcExporter } from '@opentelemetry/exporter-trace-otlp-grpc';
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { randomBytes } from 'node:crypto';

import { check, finish } from '../lib/results.mjs';
import { getJson, server } from '../lib/server.mjs';
import { compareBlocks, compareEvents, compareProcess, expectedSummary, sendTrace } from '../lib/spans.mjs';

const http = (Exporter, compression) =>
  new Exporter({ url: `http://${server.otlp_http}/v1/traces`, compression });
const grpc = (compression) => new GrpcExporter({ url: `http://${server.otlp_grpc}`, compression });
const { NONE, GZIP } = CompressionAlgorithm;

const transports = {
  'gRPC': () => grpc(NONE),
  'gRPC, gzip': () => grpc(GZIP),
  'HTTP/protobuf': () => http(ProtobufExporter, NONE),
  'HTTP/protobuf, gzip': () => http(ProtobufExporter, GZIP),
  'HTTP/JSON': () => http(JsonExporter, NONE),
  'HTTP/JSON, gzip': () => http(JsonExporter, GZIP),
};

for (const [name, makeExporter] of Object.entries(transports)) {
  const service = `shop ${randomBytes(4).toString('hex')}`;
  let sent;
  await check(`otel-node: ${name}: the export succeeds`, async (assert) => {
    sent = await sendTrace(makeExporter(), service);
    assert.deepEqual(sent.results, [{ code: 0 }]);
    assert.equal(sent.spans.length, 7);
  });
  if (!sent) continue;
  let answer;
  await check(`otel-node: ${name}: the trace is there`, async (assert) => {
    answer = await getJson(`/api/v1/trace/${sent.traceId}`);
    assert.equal(answer.trace_id, sent.traceId);
    assert.equal(answer.complete, true);
    assert.deepEqual(answer.repairs, []);
    assert.deepEqual(answer.missing, []);
  });
  if (!answer) continue;
  await check(`otel-node: ${name}: every span, attribute, link and status`, (assert) => compareBlocks(assert, sent.spans, answer));
  await check(`otel-node: ${name}: every event`, (assert) => compareEvents(assert, sent.spans, answer));
  await check(`otel-node: ${name}: the process`, (assert) => compareProcess(assert, sent.spans, answer, service));
  await check(`otel-node: ${name}: found by search`, async (assert) => {
    const found = await getJson(`/api/v1/traces?${new URLSearchParams({ service, attr: 'int=-42', status: 'error' })}`);
    assert.deepEqual(found, { traces: [expectedSummary(sent, service)], next: null });
  });
}

await check('otel-node: sending the same trace twice changes nothing', async (assert) => {
  const service = `twice ${randomBytes(4).toString('hex')}`;
  const exporter = http(ProtobufExporter, NONE);
  const { traceId, spans } = await sendTrace({ export: exporter.export.bind(exporter), shutdown: async () => {} }, service);
  await new Promise((resolve) => exporter.export(spans, resolve));
  assert.equal((await getJson(`/api/v1/trace/${traceId}`)).blocks.length, spans.length);
  const [summary] = (await getJson(`/api/v1/traces?${new URLSearchParams({ service })}`)).traces;
  assert.equal(summary.spans, spans.length);
});

finish();
