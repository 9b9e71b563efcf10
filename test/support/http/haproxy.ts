import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describeWith } from '../jest/suite.js';
import { until } from '../until.js';
import { accepts } from './free-port.js';

const CONFIGURATION = fileURLToPath(new URL('../../../deploy/haproxy/haproxy.cfg', import.meta.url));
const EXECUTABLE = ['/usr/sbin/haproxy', '/usr/local/sbin/haproxy', '/usr/bin/haproxy'].find((path) =>
  existsSync(path),
);
const MISSING = 'there is no HAProxy in the usual places. Install it (on Debian: apt-get install haproxy).';

/** A suite that needs HAProxy. */
export function describeWithHaproxy(name: string, suite: () => void): void {
  describeWith(EXECUTABLE === undefined ? MISSING : undefined, name, suite);
}

/** An instance, as HAProxy has to know it. */
interface ProxiedInstance {
  readonly port: number;
  readonly managementPort: number;
}

/** HAProxy with the configuration of `deploy/haproxy`, in front of up to three instances. */
export class Haproxy implements AsyncDisposable {
  output = '';

  private constructor(private readonly child: ChildProcess) {
    const add = (chunk: Buffer): void => void (this.output += chunk.toString());
    child.stdout?.on('data', add);
    child.stderr?.on('data', add);
  }

  /** @param variables of its configuration, in addition to the addresses */
  static async start(
    port: number,
    instances: readonly ProxiedInstance[],
    variables: Record<string, string> = {},
  ): Promise<Haproxy> {
    const env: Record<string, string> = { ...variables, LISTEN: `127.0.0.1:${port}` };
    for (const [i, instance] of instances.entries()) {
      const letter = 'ABC'.charAt(i);
      env[`PLANT_STORE_${letter}`] = `127.0.0.1:${instance.port}`;
      env[`READINESS_${letter}`] = `127.0.0.1:${instance.managementPort}`;
    }
    const proxy = new Haproxy(spawn(EXECUTABLE ?? '', ['-db', '-f', CONFIGURATION], { env }));
    await until(() => accepts(port));
    return proxy;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.child.kill('SIGKILL');
    if (this.child.exitCode === null && this.child.signalCode === null) await once(this.child, 'exit');
  }
}
