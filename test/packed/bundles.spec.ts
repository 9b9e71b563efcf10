import { beforeAll, describe, expect, it } from '@jest/globals';
import { cp, readdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { describeGuestContract } from '../contract/describe-guest-contract.js';
import { describeTakenIds } from '../contract/taken-ids.js';
import type { Platform } from '../support/host/platforms.js';
import { describeWithHost } from './describe-with-host.js';
import { COMMAND_LIMIT_MS, runCommand } from './run-command.js';
import { inBundle, inExample, inLayout } from './workspace.js';

const BUNDLERS = inExample('commonjs-host', 'bundlers');

// One after the other: the files below are what these write.
beforeAll(async () => {
  await bundle('express', inExample('commonjs-host'));
  await bundle('fastify', inLayout('nest-12-esm'));
}, 2 * COMMAND_LIMIT_MS);

async function bundle(platform: Platform, host: string): Promise<void> {
  await runCommand(host, `node ${BUNDLERS}/esbuild.mjs`);
  await runCommand(host, `${BUNDLERS}/node_modules/.bin/webpack --config ${BUNDLERS}/webpack.config.cjs`);
  for (const kind of ['cjs', 'esm', 'webpack']) {
    await cp(`${host}/bundle/${kind}`, inBundle(platform, kind), { recursive: true });
  }
}

// They make their tables by themselves, at the start.
const migrate = (): Promise<void> => Promise.resolve();

describe.each([
  ['esbuild, as an ES module', inBundle('express', 'esm/host.mjs')],
  ['esbuild, as CommonJS', inBundle('express', 'cjs/host.cjs')],
  ['webpack', inBundle('express', 'webpack/host.cjs')],
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

// Its adapter asks for other packages, and some of them only if they are installed.
describe.each(['esm/host.mjs', 'cjs/host.cjs', 'webpack/host.cjs'])('a host on Fastify in one file: %s', (file) => {
  const host = { program: inBundle('fastify', file), basePath: '/api/v1' };
  describeWithHost({ ...host, variables: { PLATFORM: 'fastify', BODY: 'exempt' } }, (target) => {
    describeTakenIds(target);
  });
});
