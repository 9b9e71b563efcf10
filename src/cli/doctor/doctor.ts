import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { listenError } from '../../app/config-error.js';
import { type Environment, readEnvironment } from '../../app/config.js';
import { connectionLimit } from '../../app/create-app.js';
import { withoutTokens } from '../../auth/tokens/token.js';
import { parseDatabaseUrl } from '../../database/database-url.js';
import { escapeControls, escapeControlsInLines, reasonOf } from '../../util/text.js';
import { hasLocalDatabase, LOCAL_DIRECTORY, useLocalDatabase } from '../local.js';
import { FaultsFoundError, print } from '../output.js';
import { checkDatabase, type Finding, finding } from './database-checks.js';

const INFO_TIMEOUT_MS = 1000;
/** Addresses of this machine alone, and folders of Unix sockets. */
const LOCAL = /^(localhost|127(\.\d+){3}|\[?::1\]?|\/.*)$/i;

type Check = (environment: Environment) => Finding[] | Promise<Finding[]>;

/** Each check with the variables that it needs. */
const CHECKS: readonly (readonly [check: string, run: Check, ...needs: string[]])[] = [
  ['ports', checkPorts, 'PORT', 'HOST', 'MANAGEMENT_PORT', 'MANAGEMENT_HOST'],
  ['descriptors', checkDescriptors, 'MAX_CONNECTIONS', 'DATABASE_POOL_SIZE'],
  ['secret files', checkSecretFiles],
  ['TLS of clients', checkClientTls, 'HOST', 'TRUST_PROXY'],
  ['TLS of the database', checkDatabaseTls, 'DATABASE_URL', 'DATABASE_PASSWORD'],
  ['database', checkStorage, 'DATABASE_URL', 'DATABASE_PASSWORD', 'DATABASE_POOL_SIZE'],
];

/** `plant-store doctor`: looks for what is wrong, and changes nothing. @throws FaultsFoundError */
export async function doctor({ json }: { json?: boolean }): Promise<void> {
  const environment = readEnvironment(process.env);
  const { settings, nearMisses } = environment;
  const findings = [
    ...settings.map(({ name, value, source, fault }) =>
      fault === undefined
        ? finding(name, `${value || '-'} (${source})`)
        : finding(name, fault, ['fault', 'Correct this variable.']),
    ),
    ...nearMisses.map((line) => finding('variables', line, ['warning', 'Correct or remove this variable.'])),
  ];
  const faulty = settings.flatMap(({ name, fault }) => (fault === undefined ? [] : name));
  for (const [check, run, ...needs] of CHECKS) {
    const wrong = needs.filter((name) => faulty.includes(name)).join(', ');
    const notChecked = [
      finding(check, 'not checked', ['warning', `Correct ${wrong}, and call plant-store doctor again.`]),
    ];
    findings.push(...(wrong === '' ? await attempt(check, () => run(environment)) : notChecked));
  }
  const text = json === true ? JSON.stringify(findings, undefined, 2) : table(findings);
  await print(withoutTokens(escapeControlsInLines(text)));
  const faults = findings.filter(({ state }) => state === 'fault').length;
  if (faults > 0) throw new FaultsFoundError(`the doctor has found ${faults} fault${faults > 1 ? 's' : ''}`);
}

async function attempt(check: string, run: () => Finding[] | Promise<Finding[]>): Promise<Finding[]> {
  try {
    return await run();
  } catch (error) {
    return [finding(check, reasonOf(error), ['fault', 'Do what it says, and call plant-store doctor again.'])];
  }
}

function table(findings: readonly Finding[]): string {
  const width = Math.max(...findings.map(({ check }) => check.length));
  const lineOf = ({ check, state, found, advice }: Finding): string =>
    `${state.padEnd(7)}  ${check.padEnd(width)}  ${escapeControls(found)}${advice && `\n${' '.repeat(width + 11)}→ ${advice}`}`;
  return findings.map(lineOf).join('\n');
}

async function checkPorts({ host, port, managementHost, managementPort }: Environment): Promise<Finding[]> {
  const running = await findRunning(managementHost, managementPort);
  const findings = [
    { names: { host: 'HOST', port: 'PORT' }, address: { host, port } },
    {
      names: { host: 'MANAGEMENT_HOST', port: 'MANAGEMENT_PORT' },
      address: { host: managementHost, port: managementPort },
    },
  ].map(async ({ names, address }) => {
    const check = `${names.port} is free`;
    const server = createServer();
    try {
      await once(server.listen(address), 'listening');
      return finding(check, 'yes');
    } catch (error) {
      const isRunning = running?.configuration?.[names.port]?.value === String(address.port);
      if (isRunning) return finding(check, `no, plant store ${String(running.version)} is running`);
      const [, reason = reasonOf(error)] = listenError(error, names, address).message.split('\n');
      return finding(check, reason, ['fault', 'End the other program, or correct the variable.']);
    } finally {
      server.close();
    }
  });
  return Promise.all(findings);
}

interface RunningService {
  readonly version?: unknown;
  readonly configuration?: Readonly<Record<string, { readonly value: unknown }>>;
}

/** What `/info` says, if a plant store is running with this management listener. */
async function findRunning(host: string, port: number): Promise<RunningService | undefined> {
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${port}/info`;
  try {
    return (await (await fetch(url, { signal: AbortSignal.timeout(INFO_TIMEOUT_MS) })).json()) as RunningService;
  } catch {
    return undefined;
  }
}

function checkDescriptors(environment: Environment): Finding[] {
  const { limit, warning } = connectionLimit(environment);
  const found = warning ?? `enough for ${limit} connections of clients`;
  return [
    finding('descriptors', found, warning !== undefined && ['warning', 'Raise ulimit -n, or lower MAX_CONNECTIONS.']),
  ];
}

async function checkSecretFiles({ settings }: Environment): Promise<Finding[]> {
  const variables = settings.flatMap(({ name, source }) => (source.startsWith(`${name}_FILE`) ? `${name}_FILE` : []));
  const given = variables.map((name) => String(process.env[name]).trim());
  const open: string[] = [];
  for (const path of [...given, '.env', join(LOCAL_DIRECTORY, 'access-token')]) {
    const mode = (await stat(path).catch(() => undefined))?.mode ?? 0;
    // Windows has no such modes.
    if ((mode & 0o077) !== 0 && process.platform !== 'win32') open.push(`${path} (mode ${(mode & 0o777).toString(8)})`);
  }
  const advice = 'chmod 600, and let the user of the service own them.';
  if (open.length === 0) return [finding('secret files', 'none is open to other users')];
  return [finding('secret files', `open to other users: ${open.join(', ')}`, ['warning', advice])];
}

function checkClientTls({ host, trustProxy }: Environment): Finding[] {
  const isBehindProxy = trustProxy !== 0 && String(trustProxy) !== '';
  const isOpen = !LOCAL.test(host) && !isBehindProxy;
  const found = isOpen
    ? `none, and ${host} is open to other machines`
    : isBehindProxy
      ? 'a proxy (TRUST_PROXY)'
      : `not needed on ${host}`;
  return [
    finding(
      'TLS of clients',
      found,
      isOpen && ['warning', 'Put a proxy that speaks TLS in front, and set TRUST_PROXY.'],
    ),
  ];
}

function checkDatabaseTls({ databaseUrl, databasePassword }: Environment): Finding[] {
  if (databaseUrl === undefined) return [];
  const { hostname, searchParams } = new URL(parseDatabaseUrl(databaseUrl, databasePassword).connectionString);
  const host = searchParams.get('host') ?? decodeURIComponent(hostname);
  const mode = searchParams.get('sslmode') ?? process.env.PGSSLMODE ?? 'disable';
  const isOpen = mode === 'disable' && !LOCAL.test(host);
  const advice = 'It is another machine: add sslmode=verify-full to DATABASE_URL.';
  return [finding('TLS of the database', `sslmode=${mode} to ${host}`, isOpen && ['warning', advice])];
}

async function checkStorage(environment: Environment): Promise<Finding[]> {
  const { databaseUrl, databasePassword, databasePoolSize, accessTokens, jwtIssuer, production } = environment;
  const others = [];
  if (accessTokens.length > 0) others.push(`${accessTokens.length} static ones`);
  if (jwtIssuer !== undefined) others.push(`those of ${jwtIssuer}`);
  if (others.length === 0 && !production) others.push(`one that the service makes in ${LOCAL_DIRECTORY}`);
  const use = { connections: databasePoolSize + 1, otherTokens: others.join(', ') };
  if (databaseUrl !== undefined)
    return checkDatabase({ ...use, database: parseDatabaseUrl(databaseUrl, databasePassword) });
  if (!(await hasLocalDatabase())) return [finding('database', `the first start makes one in ${LOCAL_DIRECTORY}`)];
  const { url, stop } = await useLocalDatabase();
  try {
    return await checkDatabase({ ...use, database: parseDatabaseUrl(url) });
  } finally {
    await stop();
  }
}
