import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const SCRIPT = fileURLToPath(new URL('../../scripts/audit.mjs', import.meta.url));

describe('audit.mjs', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'audit-'));
  });
  afterEach(() => {
    rmSync(folder, { recursive: true });
  });

  /** What the script says when npm prints this. */
  function audit(report: string): { status: number | null; stdout: string; stderr: string } {
    writeFileSync(join(folder, 'report'), report);
    writeFileSync(join(folder, 'npm'), `#!/bin/sh\ncat '${join(folder, 'report')}'\nexit 1\n`, { mode: 0o755 });
    const PATH = [folder, process.env.PATH].join(delimiter);
    return spawnSync(process.execPath, [SCRIPT], { encoding: 'utf8', env: { ...process.env, PATH } });
  }
  const found = (counts: object, vulnerabilities = {}): string =>
    JSON.stringify({ vulnerabilities, metadata: { vulnerabilities: { total: 0, high: 0, critical: 0, ...counts } } });

  it.each(['', 'not json', '{"message":"405 Method Not Allowed","statusCode":405}'])(
    'should say so, and pass, if the registry answers %j',
    (report) => {
      expect(audit(report)).toMatchObject({
        status: 0,
        stdout: expect.stringMatching(/^Dependencies were not audited: .*\n$/),
      });
    },
  );

  it('should pass what is known to be less than high', () => {
    const { status, stdout } = audit(found({ total: 2 }));
    expect([status, stdout]).toEqual([0, 'Dependencies were audited: 2 known vulnerabilities, 0 high or critical.\n']);
  });

  it.each(['high', 'critical'])('should fail if a vulnerability is %s, and name it', (severity) => {
    const { status, stdout } = audit(
      found({ total: 1, [severity]: 1 }, { pg: { name: 'pg', severity, range: '<8.0.0' } }),
    );
    expect(status).toBe(1);
    expect(stdout).toContain(`${severity}: pg <8.0.0\n`);
  });
});
