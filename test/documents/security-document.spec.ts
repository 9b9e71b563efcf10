import { describe, expect, it } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import { isWellFormedToken, makeToken } from '../../src/auth/token-format.js';

const security = await readFile(new URL('../../SECURITY.md', import.meta.url), 'utf8');
const [, patternText = '', example = ''] = /```text\n(.*)\n```[^]*```text\n(.*)\n```/.exec(security) ?? [];
const pattern = new RegExp(patternText, 'g');

/** The checksum as the document describes it. */
function documentedChecksum(token: string): string {
  const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
  let text = '';
  for (let rest = crc32(token.slice('plant_'.length, -6)); rest > 0; rest = Math.floor(rest / 62)) {
    text = `${digits.charAt(rest % 62)}${text}`;
  }
  return text.padStart(6, '0');
}

describe('SECURITY.md', () => {
  it('should have a pattern that finds every token in any place, whole and alone', () => {
    for (let index = 0; index < 1000; index++) {
      const token = makeToken();
      for (const text of [token, `TOKEN=${token}\n`, `"${token}"`, `Bearer ${token},`, `https://x/?t=${token}&u`]) {
        expect(text.match(pattern)).toEqual([token]);
      }
    }
  });

  it.each([
    ['is shorter', (token: string) => token.slice(0, -1)],
    ['is longer', (token: string) => `${token}x`],
    ['is part of a longer word', (token: string) => `x${token}`],
    ['has other characters', (token: string) => `${token.slice(0, 20)}-${token.slice(21)}`],
  ])('should have a pattern that does not find what %s', (_, spoil) => {
    expect(spoil(makeToken()).match(pattern)).toBeNull();
  });

  it('should describe the checksum as it is', () => {
    for (let index = 0; index < 1000; index++) {
      const token = makeToken();
      expect(token.slice(-6)).toBe(documentedChecksum(token));
    }
  });

  it('should have an example that passes the checksum, and is plainly none that was issued', () => {
    expect(example).toMatch(/^plant_EXAMPLEexample/);
    expect(example.match(pattern)).toEqual([example]);
    expect(example.slice(-6)).toBe(documentedChecksum(example));
    expect(isWellFormedToken(example)).toBe(true);
  });

  it('should show the same pattern for each scanner', () => {
    expect(security).toContain(`regex = '''${patternText}'''`);
    expect(security).toContain(`secret format \`${patternText.replaceAll('\\b', '')}\``);
  });
});
