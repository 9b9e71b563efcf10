import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { cp, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PackedHost } from '../support/host/packed-host.js';

const STORE = `PlantsModule.forRoot({ database: { url: 'postgresql://nobody@127.0.0.1:1/none' }, guards: 'none' })`;
const AUTH = `AuthModule.forRoot({ accessTokens: ['${'x'.repeat(24)}'] })`;

describe('What a host has installed', () => {
  let host: PackedHost;

  beforeAll(async () => {
    host = await PackedHost.create();
  });
  afterAll(() => host[Symbol.asyncDispose]());

  /** Runs something while these packages of the host are away. */
  async function without<T>(names: readonly string[], run: () => T): Promise<T> {
    const paths = names.map((name) => join(host.folder, 'node_modules', name));
    for (const path of paths) await rename(path, `${path}-away`);
    try {
      return run();
    } finally {
      for (const path of paths) await rename(`${path}-away`, path);
    }
  }

  it.each([
    ['import', ['--input-type=module', '-e', `await import('plant-store')`]],
    ['require()', ['--input-type=commonjs', '-e', `require('plant-store')`]],
    ['import of the test kit', ['--input-type=module', '-e', `await import('plant-store/testing')`]],
  ])('should be named in the message of %s, with the command, if peers are missing', async (_, load) => {
    const missing = ['@nestjs/passport', '@nestjs/swagger', 'class-transformer', 'class-validator'];
    const run = await without(missing, () => host.node('--no-warnings', ...load));

    expect(run).toEqual({
      status: 1,
      output: expect.stringContaining(
        'plant-store needs packages that are not installed: ' +
          'run "npm install @nestjs/passport@12 @nestjs/swagger@12 class-transformer class-validator"\n',
      ),
    });
  });

  describe('two copies of @nestjs/core', () => {
    const nestIn = (folder: string): string => join(folder, 'node_modules/@nestjs/core');
    let app: string;
    let version: string;

    beforeAll(async () => {
      app = join(host.folder, 'my app (1)');
      await mkdir(nestIn(app), { recursive: true });
      // What is linked in the host is in the checkout.
      await cp(nestIn(process.cwd()), nestIn(app), { recursive: true });
      const { output } = host.node('-p', `require('@nestjs/core/package.json').version`);
      version = output.trim();
    });
    afterAll(() => rm(app, { recursive: true }));

    it.each([
      ['PlantsModule', 'mjs', STORE],
      ['PlantsModule', 'cjs', STORE],
      ['AuthModule', 'mjs', AUTH],
    ])('should be named by the start of %s, with their places: main.%s', async (_, kind, module) => {
      const names = ['{ NestFactory }', '{ AuthModule, PlantsModule }'];
      const from = ['@nestjs/core', 'plant-store'];
      const load = names.map((name, index) =>
        kind === 'mjs' ? `import ${name} from '${from[index]}';` : `const ${name} = require('${from[index]}');`,
      );
      const program = join(app, `main.${kind}`);
      await writeFile(program, [...load, `void NestFactory.createApplicationContext(${module});`].join('\n'));

      const { status, output } = host.node(program);
      const [message] = /Two copies .*/.exec(output) ?? [output];
      expect(status).not.toBe(0);
      expect(message).toBe(
        `Two copies of @nestjs/core are installed: the application has ${version} in ${nestIn(app)}, the store ${version} in ` +
          `${nestIn(process.cwd())}. Nest knows the classes of one only. Give both the same version, in one place: see \`npm ls ` +
          '@nestjs/core`, and `npm dedupe` (`pnpm dedupe`), or set it in `overrides` (Yarn: `resolutions`) of the package.json at the top',
      );
    });
  });
});
