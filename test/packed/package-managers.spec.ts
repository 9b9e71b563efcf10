import { describe, expect, it } from '@jest/globals';
import { existsSync, readdirSync } from 'node:fs';
import { compileStrictly } from './describe-layout.js';
import { describeWithHost, type HostOptions, type HostTarget } from './describe-with-host.js';
import { COMMAND_LIMIT_MS } from './run-command.js';
import { inManager } from './workspace.js';

// They make their tables by themselves, at the start.
const migrate = (): Promise<void> => Promise.resolve();

const PNP: HostOptions = {
  program: inManager('yarn-pnp', 'dist/main.js'),
  basePath: '',
  variables: { NODE_OPTIONS: `--require ${inManager('yarn-pnp', '.pnp.cjs')}` },
  migrate,
};
const PNPM: HostOptions = { program: inManager('pnpm', 'dist/main.js'), basePath: '', migrate };

function describeHost(target: () => HostTarget): void {
  it('should create a plant', async () => {
    const response = await target().post('{"id": 1, "name": "Rose"}');
    expect(response).toMatchObject({ status: 200, body: '{"name":"Rose"}' });
  });

  it('should refuse a wrong token', async () => {
    const response = await target().post('{"id": 2, "name": "Rose"}', { Authorization: `Bearer ${'x'.repeat(24)}` });
    expect([response.status, JSON.parse(response.body)]).toEqual([400, expect.objectContaining({ error: 40101 })]);
  });
}

describe("yarn's Plug'n'Play, on Nest 11 and Express", () => {
  describeWithHost(PNP, describeHost);

  it('should have no folder of packages', () => {
    expect(existsSync(inManager('yarn-pnp', 'node_modules'))).toBe(false);
  });
});

describe('strict pnpm, on Nest 12 and Fastify, with TypeScript 7', () => {
  describeWithHost(PNPM, describeHost);

  it.each(['node16', 'node20', 'nodenext', 'bundler'] as const)(
    'should compile every entry as a strict consumer, as an ES module and as a CommonJS file: %s',
    (resolution) => compileStrictly(inManager('pnpm'), resolution),
    COMMAND_LIMIT_MS,
  );

  it('should have installed nothing that only the service needs', () => {
    const installed = readdirSync(inManager('pnpm', 'node_modules/.pnpm'));
    const names = new Set(installed.map((folder) => folder.slice(0, folder.lastIndexOf('@', folder.search(/@\d/)))));
    expect(names).toContain('@nestjs+platform-fastify');
    for (const name of ['@nestjs+platform-express', 'express', 'prom-client']) expect(names).not.toContain(name);
  });
});
