import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

let endpoint: Promise<string> | undefined;

/** The endpoint of an OTLP collector in this process that takes every span and keeps none. */
export function discardingCollector(): Promise<string> {
  return (endpoint ??= listen());
}

async function listen(): Promise<string> {
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      response.writeHead(200, { 'Content-Type': 'application/x-protobuf' }).end();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  // It must not keep the benchmark running.
  server.unref();
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
