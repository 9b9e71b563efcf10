import { describe, it } from '@jest/globals';
import { PLATFORMS } from '../support/platforms.js';
import { describeLayout, documentedCode, runOwnTests } from './describe-layout.js';
import { COMMAND_LIMIT_MS } from './run-command.js';

describe('a host on Nest 11, in CommonJS, with Jest', () => {
  describeLayout('nest-11', PLATFORMS);

  it(
    'should import migrations and JWTs in its tests with the script of the documentation',
    async () => {
      const [code = ''] = await documentedCode('#### What Jest imports later');
      const { scripts } = JSON.parse(code) as { scripts: { test: string } };
      await runOwnTests('nest-11', scripts.test);
    },
    COMMAND_LIMIT_MS,
  );
});
