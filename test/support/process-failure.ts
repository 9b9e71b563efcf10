import { expect } from '@jest/globals';
import { PlantStoreProcess } from './process.js';
import { TOKEN } from './request.js';

/** Stands for every password that no output may show. */
export const PASSWORD = 'not-to-be-told';

/** Runs a command that says why it fails, exits with 1, and shows neither a stack nor a secret. */
export async function expectFailure(
  command: string,
  variables: Record<string, string>,
  ...reasons: (string | RegExp)[]
): Promise<void> {
  const failed = await PlantStoreProcess.run(command, variables);
  for (const reason of reasons) expect(failed.stderr).toMatch(reason);
  expect(failed.stderr).toMatch(/^plant-store: /m);
  expect(failed.output).not.toMatch(/\n\s+at /);
  expect(failed.output).not.toMatch(PASSWORD);
  expect(failed.output).not.toMatch(TOKEN);
  expect(await failed.ended).toBe(1);
}
