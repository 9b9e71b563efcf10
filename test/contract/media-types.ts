import { describe, expect, it } from '@jest/globals';
import { gzipSync } from 'node:zlib';
import { type ContractTarget, expectCreated, expectNothingWritten } from './contract-target.js';

const PLANT = '{"id": 1, "name": "Rose"}';

const SUPPORTED = [
  'application/json',
  'APPLICATION/JSON',
  'application/json;',
  'application/json;charset=utf-8',
  'application/json; charset=UTF-8',
  'application/json; charset="utf-8"',
  'application/json; Charset="Utf-8"',
  'application/json ; charset=utf8',
  'application/json; version=1',
  'application/json; profile="a;b,c"; charset=utf-8',
];

const UNSUPPORTED_TYPES = [
  '',
  'json',
  'text/plain',
  'text/json',
  'text/html; charset=utf-8',
  'application/jsonx',
  'application/jso',
  'application/vnd.api+json',
  'application/merge-patch+json',
  'application/x-ndjson',
  'application/x-www-form-urlencoded',
  'application/octet-stream',
  'multipart/form-data; boundary=x',
  'application/*',
  '*/*',
  'application/json, text/plain',
  'application/json, application/json',
  '"application/json"',
];

const CHARSETS = ['latin1', 'iso-8859-1', 'utf-16', 'UTF-16LE', 'utf-32', 'windows-1252', '"utf-7"'];

/** @param canRepeat whether the client can send one of these header fields twice */
export function describeMediaTypes(target: () => ContractTarget, canRepeat = true): void {
  describe('the Content-Type', () => {
    it.each(SUPPORTED)('may be: %s', async (type) => {
      expectCreated(await target().post(PLANT, { 'Content-Type': type }), { name: 'Rose' });
    });

    it.each(UNSUPPORTED_TYPES)('should not be: %s', async (type) => {
      const response = await target().post(PLANT, { 'Content-Type': type });
      const message = await expectNothingWritten(target(), response, 41500);
      expect(message).toContain(JSON.stringify(type));
      expect(message).toMatch(/must be application\/json/);
    });

    if (canRepeat) {
      it('should not be repeated', async () => {
        const response = await target().post(PLANT, { 'Content-Type': ['application/json', 'text/plain'] });
        await expectNothingWritten(target(), response, 41500);
      });
    }

    it.each(CHARSETS)('should not have the charset %s', async (charset) => {
      const response = await target().post(PLANT, { 'Content-Type': `application/json; charset=${charset}` });
      const message = await expectNothingWritten(target(), response, 41500);
      expect(message).toMatch(new RegExp(`charset "${charset.replaceAll('"', '')}".*utf-8`));
    });

    it('should not be missing if there is a body', async () => {
      const response = await target().post(PLANT, { 'Content-Type': undefined });
      expect(await expectNothingWritten(target(), response, 41500)).toMatch(/missing.*application\/json/);
    });

    it('should not be repeated in words of any length', async () => {
      const response = await target().post(PLANT, { 'Content-Type': `text/${'x'.repeat(10_000)}` });
      const message = await expectNothingWritten(target(), response, 41500);
      expect(message.length).toBeLessThan(300);
    });

    it('should not be longer than 256 characters', async () => {
      const parameters = (length: number): string => 'application/json; x='.padEnd(length, 'x');
      for (const type of [parameters(257), 'application/json'.padEnd(15_000) + 'x']) {
        const response = await target().post(PLANT, { 'Content-Type': type });
        expect(await expectNothingWritten(target(), response, 41500)).toMatch(/256.*application\/json/);
      }
      expectCreated(await target().post(PLANT, { 'Content-Type': parameters(256) }), { name: 'Rose' });
    });
  });
}

const REFUSED = [
  ...['gzip', 'GZIP', 'x-gzip', 'br', 'deflate', 'zstd', 'compress', 'x-json', 'utf-8', '*'],
  ...['gzip, br', 'gzip, gzip', 'identity, gzip', 'identity, identity', 'gzip;q=1'],
];

/** @param canRepeat whether the client can send one of these header fields twice */
export function describeContentEncodings(target: () => ContractTarget, canRepeat = true): void {
  describe('the Content-Encoding', () => {
    it.each(['identity', 'Identity'])('may be: %s', async (coding) => {
      expectCreated(await target().post(PLANT, { 'Content-Encoding': coding }), { name: 'Rose' });
    });

    it.each(REFUSED)('should not be: %s', async (coding) => {
      const response = await target().post(gzipSync(PLANT), { 'Content-Encoding': coding });
      const message = await expectNothingWritten(target(), response, 41500);
      expect(message).toContain(`"${coding}"`);
      expect(message).toContain('send it uncompressed');
    });

    if (canRepeat) {
      it.each(['gzip', 'identity'])('should not be repeated: %s', async (coding) => {
        const response = await target().post(PLANT, { 'Content-Encoding': [coding, coding] });
        await expectNothingWritten(target(), response, 41500);
      });
    }
  });
}
