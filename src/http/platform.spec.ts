import { describe, expect, it } from '@jest/globals';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { headerValues } from './platform.js';

describe(headerValues.name, () => {
  it('should find every value that was sent, however its name is written', () => {
    const request = new IncomingMessage(new Socket());
    request.rawHeaders = ['Idempotency-Key', 'a', 'Host', 'b', 'idempotency-key', 'c'];
    expect(headerValues(request, 'idempotency-key')).toEqual(['a', 'c']);
  });

  it('should find those of a request without raw headers, as serverless adapters make it', () => {
    const request = Object.assign(new IncomingMessage(new Socket()), { headers: { 'idempotency-key': 'a' } });
    expect([headerValues(request, 'idempotency-key'), headerValues(request, 'authorization')]).toEqual([['a'], []]);
  });
});
