// For `node -r ./otel.cjs dist/main.js`: prints the name, controller, callback and route of each span that ends.
const { log } = require('node:console');
const { NestInstrumentation } = require('@opentelemetry/instrumentation-nestjs-core');
const { BasicTracerProvider } = require('@opentelemetry/sdk-trace-base');

function onEnd({ name, attributes }) {
  const values = ['nestjs.controller', 'nestjs.callback', 'http.route'].map((key) => attributes[key]);
  log(`Span: ${[name, ...values].filter(Boolean).join(', ')}`);
}
const provider = new BasicTracerProvider({ spanProcessors: [{ onStart() {}, onEnd }] });
// It is on once it is made, and wraps what Nest loads later.
new NestInstrumentation().setTracerProvider(provider);
