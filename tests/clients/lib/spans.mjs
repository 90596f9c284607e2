// The trace that every OpenTelemetry transport sends, and what must come back of it from GET /api/v1/trace/ID.
import { ROOT_CONTEXT, SpanKind, SpanStatusCode, TraceFlags, createTraceState, trace } from '@opentelemetry/api';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { randomBytes } from 'node:crypto';

const KINDS = { 0: 'internal', 1: 'server', 2: 'client', 3: 'producer', 4: 'consumer' };
const STATUSES = { 0: 'unset', 1: 'ok', 2: 'error' };

const resourceAttributes = (service) => ({
  'service.name': service,
  'host.name': 'node-host',
  'process.pid': 4711,
  'deployment.canary': true,
  'process.command_args': ['node', 'shop.mjs'],
});

// Keeps what the SDK handed to the exporter and how the export ended.
export class Recorder {
  constructor(exporter) {
    this.exporter = exporter;
    this.spans = [];
    this.results = [];
  }
  export(spans, done) {
    this.spans.push(...spans);
    this.exporter.export(spans, (result) => {
      this.results.push(result);
      done(result);
    });
  }
  forceFlush() {
    return this.exporter.forceFlush?.() ?? Promise.resolve();
  }
  shutdown() {
    return this.exporter.shutdown();
  }
}

// Seven spans of one trace, with every field that the SDK can set.
export async function sendTrace(exporter, service) {
  const recorder = new Recorder(exporter);
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes(resourceAttributes(service)),
    spanProcessors: [new BatchSpanProcessor(recorder)],
  });
  const tracer = provider.getTracer('otel-node', '1.2.3');
  const second = Math.floor(Date.now() / 1000) - 60;
  const at = (nanos) => [second + Math.floor(nanos / 1e9), nanos % 1e9];
  const within = (span) => trace.setSpan(ROOT_CONTEXT, span);

  const root = tracer.startSpan('GET /cart', { kind: SpanKind.SERVER, startTime: at(1) }, ROOT_CONTEXT);
  const client = tracer.startSpan('call cart', {
    kind: SpanKind.CLIENT,
    startTime: at(1_000_001),
    attributes: {
      text: 'ünïcode "quoted" \\ \u0007',
      empty: '',
      int: -42,
      'int.large': Number.MAX_SAFE_INTEGER,
      double: 0.1,
      'double.tiny': 1.5e-300,
      yes: true,
      no: false,
      texts: ['a', 'b'],
      ints: [1, -2],
      doubles: [0.5, 1.25],
      bools: [true, false],
    },
  }, within(root));
  client.setStatus({ code: SpanStatusCode.ERROR, message: 'no cart' });
  const work = tracer.startSpan('compute', { kind: SpanKind.INTERNAL, startTime: at(2_000_000) }, within(root));
  work.addEvent('retry', { attempt: 2, reason: 'timeout', final: false }, at(2_500_003));
  work.recordException(new TypeError('bad cart'), at(2_600_000));
  work.setStatus({ code: SpanStatusCode.OK });
  const producer = tracer.startSpan('orders send', { kind: SpanKind.PRODUCER, startTime: at(3_000_000) }, within(root));
  const consumer = tracer.startSpan('orders receive', {
    kind: SpanKind.CONSUMER,
    startTime: at(4_000_000),
    links: [
      { context: client.spanContext(), attributes: { why: 'batch', n: 1 } },
      {
        context: {
          traceId: randomBytes(16).toString('hex'),
          spanId: randomBytes(8).toString('hex'),
          traceFlags: TraceFlags.SAMPLED,
          traceState: createTraceState('v=2'),
        },
      },
    ],
  }, within(producer));
  const remote = trace.setSpanContext(ROOT_CONTEXT, {
    traceId: root.spanContext().traceId,
    spanId: root.spanContext().spanId,
    traceFlags: TraceFlags.SAMPLED,
    traceState: createTraceState('vendor=abc,other=1'),
    isRemote: true,
  });
  const stateful = tracer.startSpan('with state', { kind: SpanKind.SERVER, startTime: at(5_000_000) }, remote);
  const instant = tracer.startSpan('instant', { startTime: at(6_000_000) }, within(root));

  instant.end(at(6_000_000));
  stateful.end(at(5_500_000));
  consumer.end(at(9_999_999));
  producer.end(at(3_000_007));
  work.end(at(2_900_000));
  client.end(at(7_000_003));
  root.end(at(8_000_000));
  await provider.forceFlush();
  await provider.shutdown();
  return { traceId: root.spanContext().traceId, spans: recorder.spans, results: recorder.results };
}

const nanos = ([seconds, rest]) => (BigInt(seconds) * 1_000_000_000n + BigInt(rest)).toString();

// A span as the SDK recorded it, in the words of our trace JSON.
function expectedBlock(span) {
  return {
    span_id: span.spanContext().spanId,
    parent_id: span.parentSpanContext?.spanId ?? null,
    name: span.name,
    kind: KINDS[span.kind],
    status: STATUSES[span.status.code],
    status_message: span.status.message ?? '',
    raw_start_ns: nanos(span.startTime),
    raw_end_ns: nanos(span.endTime),
    tracestate: span.spanContext().traceState?.serialize() ?? '',
    source: 'recorded',
    scope: [span.instrumentationScope.name, span.instrumentationScope.version],
    attributes: span.attributes,
    links: span.links.map((link) => ({
      trace_id: link.context.traceId,
      span_id: link.context.spanId,
      attributes: link.attributes ?? {},
    })),
  };
}

const receivedBlock = (block) => ({
  span_id: block.span_id,
  parent_id: block.parent_id,
  name: block.name,
  kind: block.kind,
  status: block.status,
  status_message: block.status_message ?? '',
  raw_start_ns: block.raw_start_ns,
  raw_end_ns: block.raw_end_ns,
  tracestate: block.tracestate ?? '',
  source: block.source,
  scope: [block.scope?.name, block.scope?.version],
  attributes: block.attributes ?? {},
  links: (block.links ?? []).map(({ trace_id, span_id, attributes }) => ({ trace_id, span_id, attributes: attributes ?? {} })),
});

const bySpan = (a, b) => (a.span_id < b.span_id ? -1 : 1);

export function compareBlocks(assert, sent, answer) {
  assert.deepEqual(answer.blocks.map(receivedBlock).sort(bySpan), sent.map(expectedBlock).sort(bySpan));
  // One host: nothing is moved.
  for (const block of answer.blocks) {
    assert.deepEqual([block.start_ns, block.end_ns], [block.raw_start_ns, block.raw_end_ns]);
    assert.ok(BigInt(block.received_ns) > BigInt(block.raw_end_ns));
  }
}

export function compareEvents(assert, sent, answer) {
  const expected = sent.flatMap((span) => span.events.map((event) => ({
    span_id: span.spanContext().spanId,
    name: event.name,
    raw_time_ns: nanos(event.time),
    attributes: event.attributes ?? {},
  })));
  const received = answer.points
    .filter((point) => point.type !== 'begin' && point.type !== 'end')
    .map(({ span_id, name, raw_time_ns, attributes }) => ({ span_id, name, raw_time_ns, attributes: attributes ?? {} }));
  const order = (a, b) => (a.raw_time_ns < b.raw_time_ns ? -1 : 1);
  assert.equal(expected.length, 2);
  assert.deepEqual(received.sort(order), expected.sort(order));
}

export function compareProcess(assert, sent, answer, service) {
  assert.equal(answer.processes.length, 1);
  assert.equal(answer.processes[0].service, service);
  assert.equal(answer.processes[0].host, 'node-host');
  const { attributes } = sent[0].resource; // ours, and those by which the SDK names itself
  for (const [key, value] of Object.entries(resourceAttributes(service))) assert.deepEqual(attributes[key], value);
  assert.deepEqual(answer.processes[0].attributes, attributes);
  for (const block of answer.blocks) assert.equal(block.service, service);
}

export function expectedSummary({ traceId, spans }, service) {
  const start = spans.map((s) => BigInt(nanos(s.startTime))).reduce((a, b) => (a < b ? a : b));
  const end = spans.map((s) => BigInt(nanos(s.endTime))).reduce((a, b) => (a > b ? a : b));
  return {
    trace_id: traceId,
    service,
    name: 'GET /cart',
    start_ns: start.toString(),
    duration_ns: (end - start).toString(),
    spans: spans.length,
    errors: 1,
    complete: true,
  };
}
