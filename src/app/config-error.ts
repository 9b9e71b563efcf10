import { once } from 'node:events';
import { createServer } from 'node:net';
import { ExplainedError, quote } from '../util/text.js';

/** The configuration cannot be used. `faults` holds one line for each fault: the variable, what is wrong, what would be right. */
export class ConfigurationError extends ExplainedError {
  override readonly name = 'ConfigurationError';
  /** Whether the same configuration may be usable later: another program may free the port. */
  readonly isTemporary: boolean;

  constructor(
    readonly faults: readonly string[],
    { isTemporary = false, ...options }: ErrorOptions & { isTemporary?: boolean } = {},
  ) {
    super(`The configuration cannot be used:\n${faults.join('\n')}`, options);
    this.isTemporary = isTemporary;
  }
}

type Prefix = '' | 'MANAGEMENT_';

/** The fault of HOST or PORT, whose names may have a prefix, that a server would not listen there; undefined if it would. */
export async function findListenError(prefix: Prefix, host: string, port: number): Promise<Error | undefined> {
  const server = createServer();
  try {
    await once(server.listen({ host, port }), 'listening');
    return undefined;
  } catch (error) {
    return listenError(error, prefix, host, port);
  } finally {
    server.close();
  }
}

/** Translates what a server's `listen` failed with into a fault of HOST or PORT, whose names may have a prefix. */
export function listenError(cause: unknown, prefix: Prefix, host: string, port: number): Error {
  const { code = '' } = cause as NodeJS.ErrnoException;
  const fault = {
    EADDRINUSE: `PORT: ${port} on ${quote(host)} is taken by another program, should be a free port`,
    EACCES: `PORT: ${port} on ${quote(host)} is not allowed to this user, should be 1024 or more`,
  }[code];
  if (fault !== undefined)
    return new ConfigurationError([`${prefix}${fault}`], { cause, isTemporary: code === 'EADDRINUSE' });
  if (!['EADDRNOTAVAIL', 'EAFNOSUPPORT', 'ENOTFOUND', 'EAI_AGAIN'].includes(code)) return cause as Error;
  const unknown = `HOST: ${quote(host)} is no address of this machine (${code}), should be one of its own`;
  // The network may not be up yet.
  return new ConfigurationError([`${prefix}${unknown}`], { cause, isTemporary: true });
}
