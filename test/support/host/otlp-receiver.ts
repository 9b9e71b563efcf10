import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { endServer, originOf } from '../http/local-server.js';
import { until } from '../until.js';

export interface ReceivedSpan {
  traceId: string;
  spanId: string;
  /** Empty for a root. */
  parentSpanId: string;
  name: string;
  kind: number;
  /** 2 is an error. */
  status: number;
  attributes: Record<string, unknown>;
  /** The ids of the spans that it links to. */
  links: string[];
  resource: Record<string, unknown>;
}

/** A collector of traces: takes OTLP over HTTP, in protobuf. */
export class OtlpReceiver implements AsyncDisposable {
  readonly spans: ReceivedSpan[] = [];
  /** Every byte that came, decompressed. */
  bytes = Buffer.alloc(0);
  readonly headers: IncomingHttpHeaders[] = [];
  /** What it answers with; without one it never does. */
  status: number | undefined = 200;

  private constructor(private readonly server: Server) {
    server.on('request', (request, response) => {
      void buffer(request).then((body) => {
        const bytes = request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body;
        this.headers.push(request.headers);
        if (this.status === 200 && request.url === '/v1/traces') {
          this.bytes = Buffer.concat([this.bytes, bytes]);
          this.spans.push(...spansOf(bytes));
        }
        if (this.status !== undefined) response.writeHead(this.status).end();
      });
    });
  }

  static async start(port = 0): Promise<OtlpReceiver> {
    const server = createServer().listen(port, '127.0.0.1');
    await once(server, 'listening');
    return new OtlpReceiver(server);
  }

  get url(): string {
    return originOf(this.server);
  }

  /** Resolves to the spans of this name, once there are as many. */
  async received(name: string, count = 1): Promise<ReceivedSpan[]> {
    const found = () => this.spans.filter((span) => span.name === name);
    await until(() => found().length >= count);
    return found();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return endServer(this.server);
  }
}

function spansOf(request: Buffer): ReceivedSpan[] {
  return messages(request, 1).flatMap((resourceSpans) => {
    const resource = Object.assign({}, ...messages(resourceSpans, 1).map((each) => attributesOf(each, 1))) as object;
    return messages(resourceSpans, 2)
      .flatMap((scopeSpans) => messages(scopeSpans, 2))
      .map((span) => ({
        traceId: bytesOf(span, 1).toString('hex'),
        spanId: bytesOf(span, 2).toString('hex'),
        parentSpanId: bytesOf(span, 4).toString('hex'),
        name: bytesOf(span, 5).toString(),
        kind: Number(fieldsOf(span).get(6)?.[0] ?? 0),
        status: Number(fieldsOf(bytesOf(span, 15)).get(3)?.[0] ?? 0),
        attributes: attributesOf(span, 9),
        links: messages(span, 13).map((link) => bytesOf(link, 2).toString('hex')),
        resource: { ...resource },
      }));
  });
}

function attributesOf(message: Buffer, field: number): Record<string, unknown> {
  return Object.fromEntries(
    messages(message, field).map((attribute) => {
      const value = fieldsOf(bytesOf(attribute, 2));
      return [bytesOf(attribute, 1).toString(), value.get(1)?.[0]?.toString() ?? Number(value.get(3)?.[0])];
    }),
  );
}

/** The fields of a message in protobuf, by their numbers: each value a number, or bytes. */
function fieldsOf(message: Buffer): Map<number, (Buffer | bigint)[]> {
  const fields = new Map<number, (Buffer | bigint)[]>();
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = message.readUInt8(at++);
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  const bytes = (length: number): Buffer => message.subarray(at, (at += length));
  while (at < message.length) {
    const tag = Number(varint());
    const type = tag & 7;
    const value = type === 0 ? varint() : bytes(type === 2 ? Number(varint()) : type === 1 ? 8 : 4);
    fields.set(tag >> 3, [...(fields.get(tag >> 3) ?? []), value]);
  }
  return fields;
}

function messages(message: Buffer, field: number): Buffer[] {
  return (fieldsOf(message).get(field) ?? []) as Buffer[];
}

function bytesOf(message: Buffer, field: number): Buffer {
  return messages(message, field)[0] ?? Buffer.alloc(0);
}
