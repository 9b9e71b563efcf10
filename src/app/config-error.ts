import { quote } from '../util/text.js';

/** The configuration cannot be used. `faults` holds one line for each fault: the variable, what is wrong, what would be right. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';

  constructor(
    readonly faults: readonly string[],
    options?: ErrorOptions,
  ) {
    super(`The configuration cannot be used:\n${faults.join('\n')}`, options);
  }
}

interface Listener<Port> {
  host: string;
  port: Port;
}

/** Translates what a server's `listen` failed with into a fault of the variables that said where to listen. */
export function listenError(cause: unknown, variables: Listener<string>, { host, port }: Listener<number>): Error {
  const { code } = cause as NodeJS.ErrnoException;
  const place = `${port} on ${quote(host)}`;
  switch (code) {
    case 'EADDRINUSE':
      return fault(`${variables.port}: ${place} is taken by another program, should be a free port`);
    case 'EACCES':
      return fault(`${variables.port}: ${place} is not allowed to this user, should be 1024 or more`);
    case 'EADDRNOTAVAIL':
    case 'EAFNOSUPPORT':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return fault(
        `${variables.host}: ${quote(host)} is no address of this machine (${code}), should be one of its own`,
      );
    default:
      return cause instanceof Error ? cause : new Error(String(cause));
  }

  function fault(text: string): ConfigurationError {
    return new ConfigurationError([text], { cause });
  }
}
