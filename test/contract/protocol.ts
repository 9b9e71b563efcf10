import { describe, expect, it } from '@jest/globals';
import { postHead } from '../support/http/request.js';
import { CLOSED, type ContractTarget, exchange, expectCreated, expectNothingWritten } from './contract-target.js';

const PLANT = '{"id": 1, "name": "Rose"}';

/** What is no HTTP/1 request, from the first byte or from the first line. */
const GARBAGE: [what: string, bytes: string | Buffer][] = [
  ['words', 'good morning\r\n\r\n'],
  ['a lone word', 'garbage\r\n\r\n'],
  ['a TLS greeting', Buffer.from('1603010200010001fc0303', 'hex')],
  ['an SSH greeting', 'SSH-2.0-OpenSSH_9.2\r\n'],
  ['an HTTP response', 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'],
  ['an HTTP/2 greeting', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0'],
  ['zeros', Buffer.alloc(100)],
  ['a request line of HTTP/0.9', 'POST /plants\r\n\r\n'],
  ['a request line without a path', 'POST HTTP/1.1\r\n\r\n'],
  ['a request line without a slash', 'POST plants HTTP/1.1\r\n\r\n'],
  ['HTTP/2.0', 'POST /plants HTTP/2.0\r\nHost: x\r\n\r\n'],
  ['HTTP/1.9', 'POST /plants HTTP/1.9\r\nHost: x\r\n\r\n'],
  ['HTTP/1', 'POST /plants HTTP/1\r\nHost: x\r\n\r\n'],
  ['http/1.1', 'POST /plants http/1.1\r\nHost: x\r\n\r\n'],
  ['a blank in the path', 'POST /pla nts HTTP/1.1\r\nHost: x\r\n\r\n'],
  ['a control character in the path', 'POST /pla\x01nts HTTP/1.1\r\nHost: x\r\n\r\n'],
];

/** Field lines that no request may have. */
const BROKEN_FIELDS: [what: string, line: string][] = [
  ['no colon', 'X-Field'],
  ['a blank before the colon', 'X-Field : x'],
  ['a blank in the name', 'X Field: x'],
  ['an empty name', ': x'],
  ['a name that is no token', 'X(Field): x'],
  ['a name beyond ASCII', 'X-F\u00efeld: x'],
  ['U+0000 in the value', 'X-Field: a\0b'],
  ['U+0000 in the name', 'X-\0Field: x'],
  ['a carriage return in the value', 'X-Field: a\rb'],
  ['a control character in the value', 'X-Field: a\x01b'],
  ['a line that is folded', 'X-Field: a\r\n b'],
  ['a line that ends without a carriage return', 'X-Field: a\nX-Other: b'],
  ['a line that is folded before the first', ' X-Field: x'],
];

export function describeProtocol(target: () => ContractTarget): void {
  const headWith = (line: string): string =>
    postHead(target().basePath, PLANT).replace('\r\n', `\r\n${line === '' ? '' : `${line}\r\n`}`);

  async function expectRefusedAndClosed(bytes: string | Buffer, error: number): Promise<string> {
    const response = await exchange(target(), bytes, error, CLOSED);
    expect(response?.headers.connection).toBe('close');
    return expectNothingWritten(target(), response, error);
  }

  describe('what is no HTTP request', () => {
    it.each(GARBAGE)('should be refused: %s', (_, bytes) => expectRefusedAndClosed(bytes, 40010));

    it.each(BROKEN_FIELDS)('should be refused for a header field with %s', (_, line) =>
      expectRefusedAndClosed(headWith(line) + PLANT, 40010),
    );
  });

  describe('the Host', () => {
    it.each([
      ['missing', { Host: undefined }],
      ['repeated', { Host: ['localhost', 'other.example'] }],
      ['repeated with the same name', { Host: ['localhost', 'localhost'] }],
      ['repeated in other letters', { Host: 'localhost', HOST: 'localhost' }],
    ])('should not be %s', async (_, headers) => {
      const message = await expectRefusedAndClosed(postHead(target().basePath, PLANT, headers) + PLANT, 40010);
      expect(message).toContain('Host');
    });

    it.each(['', 'other.example', '[::1]:3000', 'x'.repeat(300)])('may be anything: %s', async (host) => {
      expectCreated(await target().post(PLANT, { Host: host }), { name: 'Rose' });
    });

    it('may be missing in an HTTP/1.0 request', async () => {
      const head = postHead(target().basePath, PLANT, { Host: undefined }).replace('HTTP/1.1', 'HTTP/1.0');
      await exchange(target(), head + PLANT, 'Rose', CLOSED);
    });
  });

  describe('the header fields', () => {
    it.each([
      ['in one field', `X-Field: ${'x'.repeat(17_000)}`],
      ['in many fields', Array<string>(1000).fill('X-Field: 0123456789').join('\r\n')],
      ['in a token', `X-Field: x\r\nAuthorization: Bearer ${'x'.repeat(17_000)}`],
      ['many times over', `X-Field: ${'x'.repeat(1_000_000)}`],
    ])('should not be larger than 16 KiB: %s', async (_, line) => {
      const message = await expectRefusedAndClosed(headWith(line) + PLANT, 43100);
      expect(message).toContain('16384 bytes');
    });

    it('should not come behind a path larger than 16 KiB', () =>
      expectRefusedAndClosed(headWith('').replace('/plants', `/plants?${'x'.repeat(17_000)}`), 43100));

    it('may fill 15 KiB', async () => {
      await exchange(target(), headWith(`X-Field: ${'x'.repeat(15_000)}`) + PLANT, 'Rose');
    });

    it('may be many', async () => {
      await exchange(target(), headWith(Array<string>(2500).fill('X:').join('\r\n')) + PLANT, 'Rose');
    });

    it('may hold what this service does not know', async () => {
      const headers = {
        Range: 'bytes=0-1',
        'If-None-Match': '*',
        Accept: 'text/plain',
        TE: 'trailers',
        Origin: 'null',
      };
      expectCreated(await target().post(PLANT, headers), { name: 'Rose' });
    });

    it('may come in any pieces, behind empty lines', async () => {
      const bytes = Buffer.from(`\r\n\r\n${headWith('X-Field: \u00e9')}${PLANT}`);
      const pieces = [...bytes].map((byte) => Buffer.of(byte));
      await exchange(target(), pieces, 'Rose');
    });
  });

  describe('an answer', () => {
    it('should tell nothing of what the service is made of', async () => {
      const answers = [target().post(PLANT), target().post(''), target().raw('garbage\r\n\r\n')];
      for (const response of await Promise.all(answers)) {
        const names = Object.keys(response.headers);
        expect(names).not.toEqual(expect.arrayContaining([expect.stringMatching(/^(?:x-powered-by|server|etag)$/)]));
        expect(response.body).not.toMatch(/node|express|nest|prisma|sql|\bat \S+:\d+/i);
      }
    });

    it('should be the same for a good request after any of these', async () => {
      await exchange(target(), 'garbage\r\n\r\n', 40010);
      expectCreated(await target().post(PLANT), { name: 'Rose' });
    });
  });
}
