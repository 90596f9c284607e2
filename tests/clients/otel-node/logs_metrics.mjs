// Logs and metrics are taken with partial success: the SDK reports success, sends each only once and is told the reason.
import { DiagLogLevel, diag } from '@opentelemetry/api';
import { SeverityNumber } from '@opentelemetry/api-logs';
import { OTLPLogExporter as GrpcLogs } from '@opentelemetry/exporter-logs-otlp-grpc';
import { OTLPLogExporter as JsonLogs } from '@opentelemetry/exporter-logs-otlp-http';
import { OTLPLogExporter as ProtobufLogs } from '@opentelemetry/exporter-logs-otlp-proto';
import { OTLPMetricExporter as GrpcMetrics } from '@opentelemetry/exporter-metrics-otlp-grpc';
import { OTLPMetricExporter as JsonMetrics } from '@opentelemetry/exporter-metrics-otlp-http';
import { OTLPMetricExporter as ProtobufMetrics } from '@opentelemetry/exporter-metrics-otlp-proto';
import { LoggerProvider, SimpleLogRecordProcessor } from '@opentelemetry/sdk-logs';
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';

import { check, finish } from '../lib/results.mjs';
import { counters, server } from '../lib/server.mjs';

const told = [];
const note = (...words) => told.push(words.join(' '));
diag.setLogger({ error: note, warn: note, info() {}, debug() {}, verbose() {} }, DiagLogLevel.WARN);

const grpc = { url: `http://${server.otlp_grpc}` };
const logs = { url: `http://${server.otlp_http}/v1/logs` };
const metrics = { url: `http://${server.otlp_http}/v1/metrics` };

async function rejected(signal) {
  return (await counters())[`otlp_${signal}_rejected`] ?? 0;
}

// Longer than the SDK's first retry delay (1 s, less 20 % jitter).
const afterARetry = () => new Promise((resolve) => setTimeout(resolve, 1500));

function recording(exporter) {
  const results = [];
  const original = exporter.export.bind(exporter);
  exporter.export = (items, done) => original(items, (result) => {
    results.push(result);
    done(result);
  });
  return results;
}

async function sendLogs(exporter) {
  const results = recording(exporter);
  const provider = new LoggerProvider({ processors: [new SimpleLogRecordProcessor({ exporter })] });
  const logger = provider.getLogger('otel-node');
  for (const body of ['one', 'two', 'three']) logger.emit({ severityNumber: SeverityNumber.INFO, body });
  await provider.forceFlush();
  await provider.shutdown();
  return results;
}

async function sendMetrics(exporter) {
  const results = recording(exporter);
  const provider = new MeterProvider({
    readers: [new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 })],
  });
  const meter = provider.getMeter('otel-node');
  const counter = meter.createCounter('requests');
  for (const route of ['/', '/cart']) counter.add(1, { route });
  meter.createHistogram('latency').record(12.5);
  await provider.forceFlush();
  await provider.shutdown(); // collects and sends once more
  return results;
}

// Exports, and log records or data points in them together: two points of the counter and one of the histogram, sent
// by forceFlush and again by shutdown.
const cases = [
  ['logs', 'gRPC', 3, 3, () => sendLogs(new GrpcLogs(grpc))],
  ['logs', 'HTTP/protobuf', 3, 3, () => sendLogs(new ProtobufLogs(logs))],
  ['logs', 'HTTP/JSON', 3, 3, () => sendLogs(new JsonLogs(logs))],
  ['metrics', 'gRPC', 2, 6, () => sendMetrics(new GrpcMetrics(grpc))],
  ['metrics', 'HTTP/protobuf', 2, 6, () => sendMetrics(new ProtobufMetrics(metrics))],
  ['metrics', 'HTTP/JSON', 2, 6, () => sendMetrics(new JsonMetrics(metrics))],
];

for (const [signal, transport, exports, items, send] of cases) {
  await check(`otel-node: ${signal} over ${transport}: success, counted once, reason told`, async (assert) => {
    const before = await rejected(signal);
    told.length = 0;
    const results = await send();
    assert.deepEqual(results.map((result) => result.code), Array(exports).fill(0));
    await afterARetry();
    assert.equal((await rejected(signal)) - before, items);
    assert.match(told.join('\n'), /[Pp]artial [Ss]uccess[^]*stores traces only/);
  });
}

finish();
