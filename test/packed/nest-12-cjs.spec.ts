import { describe, expect, it } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { describeGuestContract } from '../contract/describe-guest-contract.js';
import { describeLayout, documentedCode, linesOf } from './describe-layout.js';
import { describeWithHost } from './describe-with-host.js';
import { inLayout } from './workspace.js';

describe('a host on Nest 12, in CommonJS, with Jest', () => {
  it('should have the settings of the documentation, word for word', async () => {
    const settings = linesOf(await readFile(inLayout('nest-12-cjs', 'jest.config.ts'), 'utf8'));
    const documented = await documentedCode('### Nest 12 in Jest');

    expect(settings.join('\n')).toContain(
      documented.slice(1, documented.indexOf('// … the rest as it was')).join('\n'),
    );
  });

  describeLayout('nest-12-cjs', ['express']);

  describe('the smallest host of the documentation', () => {
    const program = inLayout('nest-12-cjs', 'dist/smallest-host.js');
    // It migrates by itself, at the start.
    describeWithHost({ program, basePath: '', migrate: () => Promise.resolve() }, (target) => {
      describeGuestContract(target, 'exempt', 'express');
    });
  });
});
