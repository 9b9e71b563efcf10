import { describe, expect, it } from '@jest/globals';
import { isHttpUrl } from './http-url.js';

describe(isHttpUrl.name, () => {
  it.each([
    'https://id.example.com',
    'http://127.0.0.1:8080/',
    'HTTPS://id.example.com/realms/plants',
    'http://[::1]/x',
  ])('should take %s', (text) => {
    expect(isHttpUrl(text)).toBe(true);
    expect(isHttpUrl(`${text}?a=b`, { query: true })).toBe(true);
  });

  it.each([
    'id.example.com',
    'ftp://id.example.com',
    'file:///etc/passwd',
    'https://',
    'https://id example.com',
    'https://id.example.com/\n',
    'https://id.example.com#keys',
    'https://id.example.com?',
    'https://id.example.com?a=b',
    'https://user@id.example.com',
    'https://:password@id.example.com',
    'https://id.example.com:port',
    '',
    undefined,
    5,
    new URL('https://id.example.com'),
  ])('should refuse %s', (text) => {
    expect(isHttpUrl(text)).toBe(false);
  });
});
