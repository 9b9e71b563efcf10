import { beforeAll, describe, expect, it } from '@jest/globals';
import { cp, readdir, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { describeGuestContract } from '../contract/describe-contract.js';
import { describeTakenIds } from '../contract/repetitions.js';
import { documentedCode, linesOf } from './describe-layout.js';
import { describeWithHost } from './describe-with-host.js';
import { COMMAND_LIMIT_MS, runCommand } from './run-command.js';
import { inLayout, inWorkspace } from './workspace.js';

const HOST = inLayout('nest-12-cjs');
/** Nothing else is near it. */
const BUNDLE = inWorkspace('bundle/host.cjs');

beforeAll(async () => {
  await runCommand(HOST, 'node esbuild.mjs');
  await cp(`${HOST}/bundle/host.cjs`, BUNDLE);
}, COMMAND_LIMIT_MS);

describe('a host in one file, made by esbuild', () => {
  it('should have the settings of the documentation, word for word', async () => {
    const settings = linesOf(await readFile(`${HOST}/esbuild.mjs`, 'utf8')).join('\n');
    expect((await documentedCode('## One file')).join('\n')).toBe(settings);
  });

  it('should be all that is in its folder', async () => {
    expect(await readdir(dirname(BUNDLE))).toHaveLength(1);
  });

  describe('the store in it, on Express', () => {
    const variables = { PLATFORM: 'express', BODY: 'exempt' };
    describeWithHost({ program: BUNDLE, basePath: '/api/v1', variables }, (target) => {
      describeGuestContract(target, 'exempt', 'express');
    });
  });

  // Its adapter asks for other packages, and some of them only if they are installed.
  describe('the store in it, on Fastify', () => {
    const variables = { PLATFORM: 'fastify', BODY: 'exempt' };
    describeWithHost({ program: BUNDLE, basePath: '/api/v1', variables }, (target) => {
      describeTakenIds(target);
    });
  });
});
