// A service as anybody writes it: OpenTelemetry set up by its own packages, nothing of wherefore. GET /?to=URL&times=n
// calls URL n times and answers with the bodies, one a line. Prints its address. CommonJS: the instrumentation of http
// replaces what require() gives.
'use strict';

const { NodeTracerProvider } = require('@opentelemetry/sdk-trace-node');
const { registerInstrumentations } = require('@opentelemetry/instrumentation');
const { HttpInstrumentation } = require('@opentelemetry/instrumentation-http');
const { context, propagation } = require('@opentelemetry/api');

new NodeTracerProvider().register(); // the default propagators: trace context and baggage
registerInstrumentations({ instrumentations: [new HttpInstrumentation()] });
const http = require('node:http');

function get(url) {
  return new Promise((resolve, reject) => {
    http.get(url, (response) => {
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (chunk) => { body += chunk; });
      response.on('end', () => resolve(body));
    }).on('error', reject);
  });
}

const server = http.createServer({ maxHeaderSize: 65536 }, async (request, response) => {
  const query = new URL(request.url, 'http://localhost').searchParams;
  try {
    const baggage = (propagation.getActiveBaggage() ?? propagation.createBaggage())
      .setEntry('node', { value: 'n1' });
    const bodies = await context.with(propagation.setBaggage(context.active(), baggage), async () => {
      const all = [];
      for (let i = 0; i < Number(query.get('times')); ++i) all.push(await get(query.get('to')));
      return all;
    });
    response.end(bodies.join('\n'));
  } catch (error) {
    response.statusCode = 502;
    response.end(String(error));
  }
});
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`));
