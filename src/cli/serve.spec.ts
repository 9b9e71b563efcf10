import { describe, expect, it } from '@jest/globals';
import { outcomeOfCommandLine } from '../../test/support/service/run-command-line.js';
import { VARIABLES } from '../service/environment.js';

describe('The help of plant-store', () => {
  it.each(['--help', 'serve --help'])(
    'should list every variable with its default to "plant-store %s"',
    async (command) => {
      const help = await outcomeOfCommandLine(command.split(' '));
      expect([help.stderr, help.code]).toEqual(['', 0]);
      const lines = help.stdout.split('\n').map((line) => line.trim().replace(/ {2,}/g, ' | '));
      for (const [name, [, value, about]] of Object.entries(VARIABLES)) {
        expect(lines).toContain([name, value, about].filter((cell) => cell !== '').join(' | '));
      }
      expect(help.stdout).toContain('DATABASE_URL_FILE, DATABASE_PASSWORD_FILE, MIGRATION_DATABASE_URL_FILE');
    },
  );

  it('should not list them after a mistake', async () => {
    const refused = await outcomeOfCommandLine(['serve', '--port=3000']);
    expect(refused.code).toBe(2);
    expect(refused.stderr).not.toContain('REQUEST_TIMEOUT');
  });
});
