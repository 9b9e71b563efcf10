import { plainToInstance } from 'class-transformer';
import { validateSync } from 'class-validator';
import { parse } from 'dotenv';
import { isUtf8 } from 'node:buffer';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseDatabaseUrl } from '../database/database-url.js';
import { ExplainedError, messageIfThrows, quote } from '../util/text.js';
import { Environment, SECRETS } from './environment.js';

/** Node.js reads these before it can read `.env`. */
const READ_BY_NODE =
  /^(?:NODE_(?:DEBUG|EXTRA_CA_CERTS|OPTIONS|USE_\w+)|(?:UV_THREADPOOL|SSL_CERT|OPENSSL)_\w+|(?:https?|all|no)_proxy)$/i;

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

/** The environment, what is wrong with it, and which names have no effect. */
interface Configuration {
  readonly environment: Environment;
  readonly faults: readonly string[];
  readonly warnings: readonly string[];
}

/** Reads the variables of the process, and those of `.env` that it lacks. The overrides replace both. */
export async function readConfiguration(overrides: NodeJS.ProcessEnv = {}): Promise<Configuration> {
  const given = Object.entries(await readEnvFile()).filter(([name, text]) => isSet(text) && !isSet(process.env[name]));
  // pg finds PGHOST and the like there.
  Object.assign(process.env, Object.fromEntries(given));
  const { warnings, ...read } = readEnvironment({ ...process.env, ...overrides });
  const late = given.map(([name]) => name).filter((name) => READ_BY_NODE.test(name));
  const advice = 'has no effect in .env, as Node.js reads it earlier: set it in the environment of the process';
  return { ...read, warnings: [...warnings, ...late.map((name) => `${name} ${advice}`)] };
}

/** Reads it once, as it may be a pipe. */
async function readEnvFile(): Promise<NodeJS.ProcessEnv> {
  const bytes = await readFile(join(process.cwd(), '.env')).catch((error: unknown) => {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return Buffer.of();
    throw new ConfigurationError([`.env must be a file that can be read (${code})`]);
  });
  // A text in another encoding would have no variable, and the service start with the defaults.
  if (!isUtf8(bytes) || bytes.includes(0))
    throw new ConfigurationError(['.env must be a text in UTF-8, and is in another encoding']);
  return parse(bytes.toString().replace(/^\uFEFF/, ''));
}

/** @throws ConfigurationError with every fault at once and without any secret */
export function assertNoFaults({ environment, faults, warnings }: Configuration): Environment {
  if (faults.length > 0) throw new ConfigurationError([...faults, ...warnings]);
  return environment;
}

/** Reads variables. One with a fault gets its default. */
export function readEnvironment(variables: NodeJS.ProcessEnv): Configuration {
  const names = Object.keys(new Environment());
  const given = names.filter((name) => isSet(variables[name]) || isSet(variables[`${name}_FILE`]));
  const texts: Record<string, string> = {};
  const faults = given.flatMap((name) => messageIfThrows(() => (texts[name] = textOf(name, variables))) ?? []);
  const environment = plainToInstance(Environment, texts);
  // The embedded database is for one developer, so the listener stays local.
  const isEmbedded = environment.NODE_ENV !== 'production' && !given.includes('DATABASE_URL');
  if (isEmbedded && !given.includes('HOST')) environment.HOST = '127.0.0.1';
  const errors = validateSync(environment, { skipMissingProperties: true, stopAtFirstError: true });
  for (const { property, constraints = {} } of errors) {
    const text = texts[property] ?? '';
    // A URL with an @ may hold a password.
    const found = SECRETS.includes(property) || text.includes('@') ? '' : ` (it is ${quote(text)})`;
    faults.push(Object.values(constraints).join() + found);
    Reflect.set(environment, property, Reflect.get(new Environment(), property));
  }
  faults.push(...findConflicts(environment, given));
  const known = [...names, ...SECRETS.map((name) => `${name}_FILE`)];
  const misspelt = Object.keys(variables).flatMap((name) => {
    const right = known.includes(name) ? undefined : known.find((each) => isMisspelt(name, each));
    return right === undefined ? [] : `${name} is no variable of the plant store: is ${right} meant?`;
  });
  return { environment, faults, warnings: misspelt };
}

/** The rules between variables, and those whose faults class-validator cannot word. */
function findConflicts(environment: Environment, given: readonly string[]): string[] {
  const { DRAIN_DELAY, MANAGEMENT_PORT, NODE_ENV, PORT, SHUTDOWN_TIMEOUT } = environment;
  const faults: string[] = [];
  if (NODE_ENV === 'production' && !given.includes('DATABASE_URL'))
    faults.push('DATABASE_URL is missing: in production it must be the URL of a PostgreSQL database');
  for (const name of ['DATABASE', 'MIGRATION_DATABASE'] as const) {
    const { [`${name}_URL` as const]: url, [`${name}_PASSWORD` as const]: password } = environment;
    const fault = url === undefined ? undefined : messageIfThrows(() => parseDatabaseUrl(url, password));
    if (fault !== undefined) faults.push(`${name}_URL ${fault}`);
  }
  if (given.includes('JWT_ISSUER') !== environment.JWT_AUDIENCE.length > 0)
    faults.push('JWT_ISSUER and JWT_AUDIENCE must be set together, or both be omitted');
  if (PORT > 0 && PORT === MANAGEMENT_PORT) faults.push('MANAGEMENT_PORT must be another one than PORT');
  if (DRAIN_DELAY > SHUTDOWN_TIMEOUT)
    faults.push(`DRAIN_DELAY must be at most SHUTDOWN_TIMEOUT (${SHUTDOWN_TIMEOUT}), which includes it`);
  return faults;
}

/** Docker Compose passes a variable that is not set as an empty one. */
function isSet(text: string | undefined): text is string {
  return text !== undefined && text.trim() !== '';
}

/** Whether both are equal once each has lost one letter at most. */
function isMisspelt(name: string, right: string): boolean {
  if (Math.abs(name.length - right.length) > 1) return false;
  const shortened = (text: string) => [text, ...Array.from(text, (_, at) => text.slice(0, at) + text.slice(at + 1))];
  const wanted = new Set(shortened(right));
  return shortened(name).some((found) => wanted.has(found));
}

/** The text of a variable. For a secret, a file goes first. Blanks may be part of a password. */
function textOf(name: string, variables: NodeJS.ProcessEnv): string {
  const [given = '', path] = [variables[name], SECRETS.includes(name) ? variables[`${name}_FILE`] : undefined];
  if (!isSet(path)) return name.endsWith('PASSWORD') ? given : given.trim();
  let [text, fault] = ['', 'it is empty'];
  try {
    // A byte order mark and the end of the line are no part of the secret.
    text = readFileSync(path.trim(), 'utf8').replace(/^\uFEFF|[\r\n]+$/g, '');
  } catch (error) {
    fault = String((error as NodeJS.ErrnoException).code);
  }
  // The path is not shown: it may be the secret itself, given to the wrong variable.
  if (!isSet(text)) throw new Error(`${name}_FILE must name a file with the secret (${fault})`);
  return text;
}
