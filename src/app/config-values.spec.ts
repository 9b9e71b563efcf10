import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findVariable } from './config-values.js';

const described = { property: '', about: '', default: '' };
const secret = { ...described, name: 'KEY', secret: true };
const plain = { ...described, name: 'COLOUR', secret: false };

describe(findVariable.name, () => {
  let folder: string;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'variable-source-'));
  });

  afterAll(() => {
    rmSync(folder, { recursive: true });
  });

  function file(name: string, text: string): string {
    const path = join(folder, name);
    writeFileSync(path, text);
    return path;
  }

  it('should trim a text, but not a secret', () => {
    expect(findVariable(plain, { COLOUR: ' red ' })).toEqual({ name: 'COLOUR', text: 'red' });
    expect(findVariable(secret, { KEY: ' red ' })).toEqual({ name: 'KEY', text: ' red ' });
  });

  it.each([{}, { KEY: '' }, { KEY: ' ', KEY_FILE: '' }])('should find nothing in %j', (variables) => {
    expect(findVariable(secret, variables)).toEqual({ name: 'KEY' });
  });

  it.each(['', '\n', '\r\n'])('should read a secret from a file that ends with %j', (end) => {
    const path = file('key', ` re\nd ${end}`);

    expect(findVariable(secret, { KEY: '', KEY_FILE: path })).toEqual({ name: 'KEY_FILE', text: ' re\nd ' });
  });

  it('should read nothing but secrets from files', () => {
    expect(findVariable(plain, { COLOUR_FILE: file('colour', 'red') })).toEqual({ name: 'COLOUR' });
  });

  it('should tell which file cannot be read', () => {
    expect(findVariable(secret, { KEY_FILE: join(folder, 'none') })).toEqual({
      name: 'KEY_FILE',
      fault: `cannot read "${join(folder, 'none')}" (ENOENT), should be the path of a readable file`,
    });
    expect(findVariable(secret, { KEY_FILE: folder })).toHaveProperty('fault', expect.stringContaining('(EISDIR)'));
  });

  it('should tell which file is empty', () => {
    expect(findVariable(secret, { KEY_FILE: file('empty', '\n') })).toEqual({
      name: 'KEY_FILE',
      fault: `"${join(folder, 'empty')}" is empty, should be a file that holds the secret`,
    });
  });

  it('should refuse a secret given twice', () => {
    expect(findVariable(secret, { KEY: 'red', KEY_FILE: file('key', 'red') })).toEqual({
      name: 'KEY',
      fault: 'is set, and so is KEY_FILE: should be one of the two',
    });
  });
});
