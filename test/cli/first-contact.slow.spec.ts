import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeWith } from '../support/jest/describe-with.js';
import { PlantStoreProcess } from '../support/service/process.js';
import { until } from '../support/until.js';

const FREE_PORTS = { PORT: '0', MANAGEMENT_PORT: '0' };
const ESCAPE = '\u001b';
const CLEAR_LINE = `\r${ESCAPE}[2K`;
const missing = process.platform === 'linux' ? undefined : 'there is no `script` of util-linux here.';

describeWith(missing, 'plant-store serve on a terminal', () => {
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'plant-store-terminal-'));
    // Or root's server, which runs as another user, would have its data outside of it.
    await chmod(folder, 0o755);
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('should leave a clean terminal after Ctrl-C, also while it starts its database', async () => {
    const isStarting = (): Promise<boolean> => Promise.resolve(existsSync(join(folder, '.data')));
    for (const moment of [() => until(isStarting), (service: PlantStoreProcess) => service.printed(/database-url/)]) {
      await using service = new PlantStoreProcess(['serve'], { terminal: true, cwd: folder, variables: FREE_PORTS });
      await moment(service);
      service.interrupt();
      expect(await service.ended).toBe(0);
      expectCleanTerminal(service.output);
      await expect(readFile(join(folder, '.data/postgres/postmaster.pid'))).rejects.toThrow('ENOENT');
    }
  });
});

/** The lines that stay on the terminal, without their colours. */
function linesLeft(output: string): string[] {
  const lines = output.split('\r\n').map((line) => line.split(CLEAR_LINE).at(-1) ?? '');
  // eslint-disable-next-line no-control-regex
  return lines.map((line) => line.replace(/\u001b\[[\d;]*m/g, ''));
}

function expectCleanTerminal(output: string): void {
  expect(linesLeft(output).at(-1)).toBe('');
  // The cursor was never hidden.
  expect(output).not.toContain(`${ESCAPE}[?25l`);
}
