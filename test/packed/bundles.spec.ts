import { beforeAll, describe, expect, it } from '@jest/globals';
import { cp, readdir, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { describeGuestContract } from '../contract/describe-guest-contract.js';
import { documentedCode, linesOf } from './describe-layout.js';
import { describeWithHost } from './describe-with-host.js';
import { COMMAND_LIMIT_MS, runCommand } from './run-command.js';
import { inBundle, inExample } from './workspace.js';

const HOST = inExample('commonjs-host');

// One after the other: the files below are what these write.
beforeAll(async () => {
  await runCommand(HOST, 'node bundlers/esbuild.mjs');
  await runCommand(HOST, 'bundlers/node_modules/.bin/webpack --config bundlers/webpack.config.cjs');
  for (const folder of ['cjs', 'esm', 'webpack'] as const) {
    await cp(`${HOST}/bundle/${folder}`, inBundle(folder), { recursive: true });
  }
}, COMMAND_LIMIT_MS);

it.each([
  ['esbuild.mjs', 'With esbuild'],
  ['webpack.config.cjs', 'With webpack'],
])('should bundle with %s as the documentation does', async (file, words) => {
  const source = await readFile(new URL(`bundlers/${file}`, import.meta.url), 'utf8');
  expect(linesOf(source).join('\n').trim()).toBe((await documentedCode(words)).join('\n').trim());
});

// They make their tables by themselves, at the start.
const migrate = (): Promise<void> => Promise.resolve();

describe.each([
  ['esbuild, as an ES module', inBundle('esm', 'host.mjs')],
  ['esbuild, as CommonJS', inBundle('cjs', 'host.cjs')],
  ['webpack', inBundle('webpack', 'host.cjs')],
])('a host in one file, made by %s', (_bundler, program) => {
  it('should be all that is in its folder', async () => {
    expect(await readdir(dirname(program))).toHaveLength(1);
  });

  describe('the store in it', () => {
    describeWithHost({ program, basePath: '', migrate }, (target) => {
      describeGuestContract(target, 'exempt', 'express');
    });
  });
});
