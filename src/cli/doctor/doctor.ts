import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { findListenError } from '../../app/config-error.js';
import { type Environment, readEnvironment } from '../../app/config.js';
import { connectionLimit } from '../../app/prerequisites.js';
import { withoutTokens } from '../../auth/tokens/token.js';
import { parseDatabaseUrl } from '../../database/database-url.js';
import { escapeControlsInLines } from '../../util/text.js';
import { LOCAL_DIRECTORY, useLocalDatabase } from '../local-database.js';
import { operatorReason, OutputError, print, table } from '../output.js';
import { AS_IT_SAYS, checkDatabase, type Finding, finding } from './database-checks.js';

const INFO_TIMEOUT_MS = 1000;
/** Addresses of this machine alone, and folders of Unix sockets. */
const LOCAL = /^(localhost|127(\.\d+){3}|\[?::1\]?|\/.*)$/i;

type Options = Readonly<{ json?: boolean; verbose?: boolean; 'trust-owner'?: string[] }>;
type Check = (environment: Environment, trustOwners: string[]) => Finding | Finding[] | Promise<Finding | Finding[]>;

/** Each check with the variables that it needs. */
const CHECKS: readonly (readonly [check: string, run: Check, ...needs: string[]])[] = [
  ['ports', checkPorts, 'PORT', 'HOST', 'MANAGEMENT_PORT', 'MANAGEMENT_HOST'],
  ['descriptors', checkDescriptors, 'MAX_CONNECTIONS', 'DATABASE_POOL_SIZE'],
  ['secret files', checkSecretFiles],
  ['TLS of clients', checkClientTls, 'HOST', 'TRUST_PROXY'],
  ['TLS of the database', checkDatabaseTls, 'DATABASE_URL', 'DATABASE_PASSWORD'],
  ['database', checkStorage, 'DATABASE_URL', 'DATABASE_PASSWORD', 'DATABASE_POOL_SIZE'],
];

/** `plant-store doctor`: looks for what is wrong, and changes nothing. @throws OutputError */
export async function doctor({
  json = false,
  verbose = false,
  'trust-owner': trustOwners = [],
}: Options): Promise<void> {
  const environment = readEnvironment(process.env);
  const { settings, nearMisses } = environment;
  const findings: Finding[] = [];
  const variables = settings
    .filter(({ source, fault }) => json || verbose || source !== 'default' || fault !== undefined)
    .map(({ name, value, source, fault }) => {
      // The name stands before it. Only another, of a file, is part of the fault.
      const found = fault?.replace(`${name}: `, '') ?? `${value || '-'} (${source})`;
      return finding(name, found, fault !== undefined, ['fault', 'Correct this variable.']);
    });
  variables.push(...nearMisses.map((line) => finding('variables', line, true)));
  const faulty = settings.filter(({ fault }) => fault !== undefined).map(({ name }) => name);
  for (const [check, run, ...needs] of CHECKS) {
    const wrong = needs.filter((name) => faulty.includes(name)).join(', ');
    const advice = `Correct ${wrong}, and call plant-store doctor again.`;
    try {
      const found =
        wrong === '' ? await run(environment, trustOwners) : finding(check, 'not checked', true, ['warning', advice]);
      findings.push(...[found].flat());
    } catch (error) {
      findings.push(finding(check, operatorReason(error), true, AS_IT_SAYS));
    }
  }
  // What was found comes before what is set.
  findings.push(...variables);
  const text = json ? JSON.stringify(findings, undefined, 2) : table(findings.flatMap(rowsOf));
  await print(withoutTokens(escapeControlsInLines(text)));
  const faults = findings.filter(({ state }) => state === 'fault').length;
  if (faults > 0) throw new OutputError(`the doctor has found ${faults} fault${faults > 1 ? 's' : ''}`);
}

function rowsOf({ check, state, found, advice }: Finding): string[][] {
  return [[state, check, found], ...(advice === '' ? [] : [['', '', `→ ${advice}`]])];
}

async function checkPorts(environment: Environment): Promise<Finding[]> {
  const { host, port, managementHost, managementPort } = environment;
  const running = await findRunning(managementHost, managementPort);
  const check = async (prefix: '' | 'MANAGEMENT_', host: string, port: number): Promise<Finding> => {
    const name = `${prefix}PORT is free`;
    const error = await findListenError(prefix, host, port);
    if (error === undefined) return finding(name, 'yes');
    const isRunning = running?.configuration?.[`${prefix}PORT`]?.value === String(port);
    if (isRunning) return finding(name, `no, plant store ${String(running.version)} is running`);
    const advice = 'End the other program, or correct the variable.';
    const [, fault = error.message] = error.message.split(`\n${prefix}PORT: `);
    return finding(name, fault, true, ['fault', advice]);
  };
  return Promise.all([check('', host, port), check('MANAGEMENT_', managementHost, managementPort)]);
}

type RunningService = Readonly<{ version?: unknown; configuration?: Record<string, { readonly value: unknown }> }>;

/** What `/info` says, if a plant store is running with this management listener. */
async function findRunning(host: string, port: number): Promise<RunningService | undefined> {
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${port}/info`;
  try {
    return (await (await fetch(url, { signal: AbortSignal.timeout(INFO_TIMEOUT_MS) })).json()) as RunningService;
  } catch {
    return undefined;
  }
}

function checkDescriptors(environment: Environment): Finding {
  const { limit, warning } = connectionLimit(environment);
  return finding('descriptors', warning ?? `enough for ${limit} connections of clients`, warning !== undefined);
}

async function checkSecretFiles({ settings }: Environment): Promise<Finding> {
  const given = settings
    .filter(({ name, source }) => source.startsWith(`${name}_FILE`))
    .map(({ name }) => String(process.env[`${name}_FILE`]).trim());
  const open: string[] = [];
  for (const path of [...given, '.env', join(LOCAL_DIRECTORY, 'access-token')]) {
    const mode = (await stat(path).catch(() => undefined))?.mode ?? 0;
    // A group reads those of containers and of Kubernetes. Windows has no such modes.
    if ((mode & 0o027) !== 0 && process.platform !== 'win32') open.push(`${path} (mode ${(mode & 0o777).toString(8)})`);
  }
  const found = open.length > 0 ? `open to other users: ${open.join(', ')}` : 'none is open to other users';
  return finding('secret files', found, open.length > 0);
}

function checkClientTls({ host, trustProxy }: Environment): Finding {
  if (trustProxy === 0) return finding('TLS of clients', 'none, and TRUST_PROXY=0 says that none is needed');
  if (String(trustProxy) !== '') return finding('TLS of clients', 'a proxy (TRUST_PROXY)');
  if (LOCAL.test(host)) return finding('TLS of clients', `not needed on ${host}`);
  return finding('TLS of clients', `none, and ${host} is open to other machines`, true);
}

function checkDatabaseTls({ databaseUrl, databasePassword }: Environment): Finding[] {
  if (databaseUrl === undefined) return [];
  const { connectionString, servers, warnings } = parseDatabaseUrl(databaseUrl, databasePassword);
  const names = [...new Set(servers.map(({ host }) => host))];
  const mode = new URL(connectionString).searchParams.get('sslmode') ?? process.env.PGSSLMODE ?? 'disable';
  const isOpen = mode === 'disable' && !names.every((name) => LOCAL.test(name));
  return [
    finding('TLS of the database', `sslmode=${mode} to ${names.join(', ')}`, isOpen),
    ...warnings.map((warning) => finding('database URL', warning, true)),
  ];
}

async function checkStorage(environment: Environment, trustOwners: string[]): Promise<Finding | Finding[]> {
  const { databaseUrl, databasePassword, databasePoolSize, accessTokens, jwtIssuer, production } = environment;
  const others = [];
  if (accessTokens.length > 0) others.push(`${accessTokens.length} static ones`);
  if (jwtIssuer !== undefined) others.push(`those of ${jwtIssuer}`);
  if (others.length === 0 && !production) others.push(`one that the service makes in ${LOCAL_DIRECTORY}`);
  const use = { connections: databasePoolSize + 2, otherTokens: others.join(', '), trustOwners };
  if (databaseUrl !== undefined) return checkDatabase({ url: databaseUrl, password: databasePassword }, use);
  if (!existsSync(LOCAL_DIRECTORY)) return finding('database', `the first start makes one in ${LOCAL_DIRECTORY}`);
  const local = await useLocalDatabase();
  return checkDatabase({ url: local.url }, use).finally(() => local.stop());
}
