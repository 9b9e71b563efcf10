import { describe, expect, it } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { describeLayout, documentedCode, linesOf } from './describe-layout.js';
import { inLayout } from './workspace.js';

describe('a host on Nest 12, in CommonJS, with Jest', () => {
  it('should have the settings of the documentation, word for word', async () => {
    const settings = linesOf(await readFile(inLayout('nest-12-cjs', 'jest.config.ts'), 'utf8'));
    const documented = await documentedCode('#### Nest 12 in Jest');

    expect(settings.join('\n')).toContain(
      documented.slice(1, documented.indexOf('// … the rest as it was')).join('\n'),
    );
  });

  describeLayout('nest-12-cjs', ['express']);
});
