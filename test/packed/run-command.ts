import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';

/** Less than a slow test may take, so that the test fails by this and leaves nothing running. */
const LIMIT_MS = 150_000;

/** Runs a command to its end in a folder. Fails, with all that was printed, if its exit code is not 0. */
export async function runCommand(
  cwd: string,
  command: string,
  variables: Record<string, string> = {},
  limitMs = LIMIT_MS,
): Promise<void> {
  const [program = '', ...args] = command.split(' ');
  // A process group of its own: npm does not end what it runs when it is ended itself.
  const child = spawn(program, args, {
    cwd,
    env: { ...process.env, ...variables },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const limit = setTimeout(() => {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  }, limitMs);
  try {
    const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
    if (child.exitCode === 0) return;
    const end = child.exitCode ?? child.signalCode ?? 'nothing';
    throw new Error(`\`${command}\` ended with ${end}:\n${output}${errors}`);
  } finally {
    clearTimeout(limit);
  }
}
