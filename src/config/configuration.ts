import { ConfigModule } from '@nestjs/config';
import { plainToInstance } from 'class-transformer';
import { validateSync } from 'class-validator';
import { isUtf8 } from 'node:buffer';
import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseDatabaseUrl } from '../prisma/database-url.js';
import { ExplainedError, messageIfThrows } from '../util/text.js';
import { Environment, type Name, SECRETS } from './environment.js';
import { VARIABLES } from './variable.js';

/** The first variable means nothing without the second. */
const REQUIRES: [Name, Name][] = [
  ['JWT_ISSUER', 'JWT_AUDIENCE'],
  ['JWT_AUDIENCE', 'JWT_ISSUER'],
  ['JWT_JWKS_URL', 'JWT_ISSUER'],
  ['JWT_TYP', 'JWT_ISSUER'],
  ['MIGRATION_DATABASE_PASSWORD', 'MIGRATION_DATABASE_URL'],
];

/** The configuration cannot be used. Each fault names the variable, what is wrong and what would be right. */
export class ConfigurationError extends ExplainedError {
  override readonly name = 'ConfigurationError';

  /** @param mayPass whether a later start may succeed, for example when another program frees the port */
  constructor(
    readonly faults: readonly string[],
    readonly mayPass = false,
    options?: ErrorOptions,
  ) {
    super(`The configuration cannot be used:\n${faults.join('\n')}`, options);
  }
}

/** The environment with its faults. */
interface ReadEnvironment {
  readonly environment: Environment;
  readonly faults: readonly string[];
}

/** Reads the variables of the process, and those of `.env` that it lacks. The overrides replace both. */
export async function readConfiguration(overrides: NodeJS.ProcessEnv = {}): Promise<ReadEnvironment> {
  const fault = envFileFault();
  if (fault !== undefined) return { environment: new Environment(), faults: [`.env: ${fault}`] };
  let variables: NodeJS.ProcessEnv = {};
  // Nest also puts those of `.env` into the environment of the process, where pg and Node.js find theirs.
  await ConfigModule.forRoot({ validate: (found: NodeJS.ProcessEnv) => (variables = found) });
  return readEnvironment({ ...variables, ...overrides });
}

/** Nest would find no variable in a file of another encoding, and start with the defaults. */
function envFileFault(): string | undefined {
  const path = resolve('.env');
  if (!existsSync(path)) return undefined;
  try {
    const bytes = readFileSync(path);
    return isUtf8(bytes) && !bytes.includes(0) ? undefined : 'is in another encoding, should be a text in UTF-8';
  } catch (error) {
    return `cannot be read (${(error as NodeJS.ErrnoException).code ?? ''}), should be a file`;
  }
}

/** @throws ConfigurationError with every fault at once and without any secret */
export function assertNoFaults({ environment, faults }: ReadEnvironment): Environment {
  if (faults.length > 0) throw new ConfigurationError(faults);
  return environment;
}

/** Reads variables. One with a fault gets its default. */
export function readEnvironment(variables: NodeJS.ProcessEnv): ReadEnvironment {
  const faults: string[] = [];
  const note = (name: string, check: () => unknown): void => {
    const fault = messageIfThrows(check);
    if (fault !== undefined) faults.push(`${name}: ${fault}`);
  };
  const texts: Record<string, string> = {};
  for (const name of VARIABLES.keys())
    note(name, () => {
      const text = textOf(name, variables);
      // Docker Compose passes an unset variable as an empty one.
      if (text.trim() !== '') texts[name] = text;
    });
  const environment = plainToInstance(Environment, texts, { exposeDefaultValues: true });
  for (const { property, constraints = {} } of validateSync(environment)) {
    faults.push(...Object.values(constraints).map((fault) => `${property}: ${fault}`));
    Reflect.set(environment, property, new Environment()[property as Name]);
  }
  const isGiven = (name: Name): boolean =>
    [name, `${name}_FILE`].some((source) => (variables[source] ?? '').trim() !== '');
  const isProduction = environment.NODE_ENV === 'production';
  // The embedded database is for one developer, so the listener stays local.
  if (!isProduction && !isGiven('DATABASE_URL') && !isGiven('HOST')) environment.HOST = '127.0.0.1';
  if (isProduction && !isGiven('DATABASE_URL'))
    faults.push('DATABASE_URL: is missing, in production it should be the URL of a PostgreSQL database');
  for (const name of ['DATABASE', 'MIGRATION_DATABASE'] as const) {
    const [address, password] = [environment[`${name}_URL`], environment[`${name}_PASSWORD`]];
    if (address !== undefined) note(`${name}_URL`, () => parseDatabaseUrl(address, password));
  }
  for (const [name, other] of REQUIRES)
    if (isGiven(name) && !isGiven(other)) faults.push(`${other}: is missing, should be set, or ${name} be left out`);
  const { DRAIN_DELAY, MANAGEMENT_PORT, PORT: port, SHUTDOWN_TIMEOUT } = environment;
  if (port > 0 && port === MANAGEMENT_PORT) faults.push('MANAGEMENT_PORT: is that of PORT too, should be another one');
  if (DRAIN_DELAY > SHUTDOWN_TIMEOUT)
    faults.push(`DRAIN_DELAY: should be at most SHUTDOWN_TIMEOUT (${SHUTDOWN_TIMEOUT}), which includes it`);
  return { environment, faults };
}

/** The text of a variable. For a secret, a file goes first. */
function textOf(name: string, variables: NodeJS.ProcessEnv): string {
  const given = variables[name] ?? '';
  if (!SECRETS.includes(name)) return given.trim();
  const path = (variables[`${name}_FILE`] ?? '').trim();
  if (path === '') return given;
  let text: string;
  try {
    // A byte order mark and the end of the line are no part of the secret.
    text = readFileSync(path, 'utf8').replace(/^\uFEFF|[\r\n]+$/g, '');
  } catch (cause) {
    // The path may be the secret itself, given to the wrong variable, so it is not shown.
    const { code = '' } = cause as NodeJS.ErrnoException;
    throw new Error(`the file of ${name}_FILE cannot be read (${code})`, { cause });
  }
  // Without its secret, the service would start in another way, for example with the embedded database.
  if (text.trim() === '') throw new Error(`the file of ${name}_FILE is empty, should hold the secret`);
  return text;
}
