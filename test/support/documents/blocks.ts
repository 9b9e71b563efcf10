import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/** A block of code on a page. */
export interface Block {
  readonly page: string;
  readonly language: string;
  /** Without the indentation of the list that it is in. */
  readonly code: string;
}

/** All blocks of the README and of `docs/`, but for text and pictures. */
export const blocks: readonly Block[] = ['README.md', ...readdirSync(`${ROOT}docs`).map((name) => `docs/${name}`)]
  .filter((page) => page.endsWith('.md'))
  .flatMap((page) =>
    [...readFileSync(`${ROOT}${page}`, 'utf8').matchAll(/^( *)```(\w+)\n([^]*?)^\1```$/gm)].map(
      ([, indent = '', language = '', code = '']) => ({ page, language, code: code.replaceAll(`\n${indent}`, '\n') }),
    ),
  )
  .filter(({ language }) => !['text', 'mermaid'].includes(language));

/** The test that runs a block, or compares it with what is run; or why no test does. */
export interface Account {
  /** Words that no other block of the page has. */
  readonly words: string;
  readonly by?: string;
  readonly because?: string;
}

const COMMANDS = 'test/documents/commands.slow.spec.ts';
const PSQL = 'test/documents/psql.slow.spec.ts';
const README_TEST = 'test/cli/first-contact.slow.spec.ts';
const CONTAINERS = 'it needs a container engine: scripts/try-containers.sh runs it, or what it does';
const ENGINE = 'it needs a container engine and images of others';
const MACHINE = 'it needs root, users of the machine and systemd';
const PATTERN = 'it is a pattern with names of the reader';
const INSTALLS = 'it installs from a registry: the tests of the package install the same packages';

/** Every block is here once. */
export const ACCOUNTS: Readonly<Record<string, readonly Account[]>> = {
  'README.md': [
    { words: 'npm ci && npm start', by: README_TEST },
    { words: 'export TOKEN=', by: README_TEST },
    { words: '{ "name": "Rose"', by: README_TEST },
    { words: 'docker compose up', because: CONTAINERS },
    { words: 'CREATE ROLE', by: README_TEST },
    { words: 'NODE_ENV=production npm start', by: README_TEST },
    { words: 'class AppModule', because: 'a part of the smallest host of docs/embedding.md, which test/packed runs' },
  ],
  'docs/authentication.md': [{ words: 'token create shop', by: COMMANDS }],
  'docs/configuration.md': [{ words: 'docker run', because: CONTAINERS }],
  'docs/embedding-recipes.md': [
    {
      words: 'transaction.order.create',
      because: 'test/embedding/host-transactions.spec.ts runs the same',
    },
    { words: 'sql.begin', because: 'test/embedding/host-transactions.spec.ts runs the same with a client of pg' },
    { words: 'CREATE TABLE outbox', because: 'it is a recipe' },
    { words: 'class Nursery', because: 'it is a recipe' },
    {
      words: 'class HealthController',
      because: 'src/plants/plants.health.spec.ts has what check() resolves and rejects with',
    },
    { words: 'class GardenStoreModule', because: 'test/embedding runs such a wrapper' },
    {
      words: 'overrideProvider(PlantsService)',
      because: 'test/embedding/stores.spec.ts runs the same',
    },
    { words: 'const config: Config', by: 'test/packed/packed-hosts.slow.spec.ts' },
    { words: "from 'esbuild'", by: 'test/packed/packed-hosts.slow.spec.ts' },
    { words: '"scripts"', by: 'test/packed/packed-hosts.slow.spec.ts' },
  ],
  'docs/embedding.md': [
    { words: "import { Module } from '@nestjs/common';", by: 'test/packed/packed-hosts.slow.spec.ts' },
    { words: '# Nest 12', because: INSTALLS },
    { words: 'prom-client@15', because: INSTALLS },
    { words: 'class SessionVerifier', because: 'test/embedding runs a verifier of the host' },
    { words: 'class OrdersController', because: 'test/embedding runs such a controller' },
    { words: 'GRANT USAGE', because: 'test/database/database-rights.spec.ts gives a role these rights' },
    { words: 'guards: [SessionGuard]', because: 'test/embedding runs createdBy of the host' },
    { words: 'DocumentBuilder', because: 'the hosts of test/support/host make their documents so' },
  ],
  'docs/errors.md': [{ words: '40901', by: COMMANDS }],
  'docs/faults.md': [{ words: 'test:faults', because: 'it is the run itself' }],
  'docs/install.md': [
    { words: 'docker compose up', because: CONTAINERS },
    { words: 'npm ci && npm pack', by: 'test/package/package.slow.spec.ts' },
    { words: 'release=', because: MACHINE },
    { words: 'useradd', because: MACHINE },
    { words: 'install -o plant-store-admin', because: MACHINE },
    { words: 'systemctl enable --now', because: MACHINE },
    { words: 'CREATE ROLE', because: 'test/database/migration-owner.spec.ts has such roles' },
    { words: 'TO plants.copy', by: PSQL },
    { words: 'kubectl', because: 'it needs a cluster; test/deployment/kubernetes.spec.ts checks the manifest' },
  ],
  'docs/observability.md': [
    { words: '/readyz', because: CONTAINERS },
    { words: 'jq -s', by: COMMANDS },
    { words: 'rule_files', by: 'test/documents/blocks.spec.ts' },
    { words: 'npm install --no-save', because: INSTALLS },
    { words: 'FROM plant-store', because: ENGINE },
  ],
  'docs/operations.md': [
    { words: 'sudo install -m 0400', because: CONTAINERS },
    { words: 'compose run --rm credentials', because: CONTAINERS },
    { words: 'openssl rand', because: MACHINE },
    { words: 'caddy', because: ENGINE },
    { words: '# Docker Compose', because: CONTAINERS },
    { words: 'dropdb -U postgres', because: CONTAINERS },
    { words: 'dropdb replaced', because: MACHINE },
    { words: 'git pull', because: CONTAINERS },
    { words: 'PLANT_STORE_HOME', because: MACHINE },
    { words: 'TO plants.csv', by: PSQL },
    { words: 'RETURNING id, name, tag', by: 'test/deployment/operator-files.spec.ts' },
    { words: 'docker compose down', because: CONTAINERS },
    { words: 'docker compose up -d --wait db', because: CONTAINERS },
  ],
  'docs/runbook.md': [
    { words: 'store()  { docker', because: CONTAINERS },
    { words: 'store()  { sudo', because: MACHINE },
    { words: "grep '^plant_store_requests_total'", by: COMMANDS },
    { words: '"level":"warn"', by: COMMANDS },
    { words: 'docker inspect -f', because: ENGINE },
    { words: 'pg_locks', by: COMMANDS },
    { words: 'pg_is_in_recovery', by: COMMANDS },
    { words: 'pg_replication_slots', by: COMMANDS },
    { words: 'pg_blocking_pids', by: COMMANDS },
    { words: 'connection_wait_seconds', by: COMMANDS },
    { words: 'commit_delay', by: COMMANDS },
    { words: 'store token list', by: COMMANDS },
    { words: '"error":50000', by: COMMANDS },
    { words: '"error":50300', by: COMMANDS },
    { words: 'creates_in_flight', by: COMMANDS },
    { words: 'pg_stat_replication', by: COMMANDS },
  ],
  'docs/scaling.md': [
    { words: 'COMPOSE_FILE', because: CONTAINERS },
    { words: 'docker stop', because: CONTAINERS },
    { words: 'TOKEN_LIMIT', because: 'test/deployment/haproxy-recipe.slow.spec.ts runs HAProxy with these variables' },
    { words: 'ANY 1', because: 'it changes settings of the server; test/faults runs a synchronous standby' },
    { words: '[pgbouncer]', by: 'test/database/pgbouncer.slow.spec.ts' },
    { words: 'pgbouncer=true', because: PATTERN },
  ],
};

/** The blocks that a test runs. */
export function blocksRunBy(test: string): Block[] {
  return blocks.filter(({ page, code }) =>
    ACCOUNTS[page]?.some(({ words, by }) => by === test && code.includes(words)),
  );
}
