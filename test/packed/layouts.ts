import type { Platform } from '../support/host/host.js';

/** A host as `nest new` makes it. */
export interface Layout {
  readonly name: string;
  readonly type: 'commonjs' | 'module';
  readonly platforms: readonly Platform[];
  /** How a strict consumer resolves the package. */
  readonly resolutions: readonly object[];
  /** What runs the host's own tests, and the types that these need. */
  readonly tests: { readonly command: string; readonly types: string };
  readonly packages: Readonly<Record<string, string>>;
}

const OF_EACH = {
  '@types/node': '24.19.2',
  'class-transformer': '0.5.1',
  'plant-store': 'file:../plant-store-1.0.0.tgz',
  'reflect-metadata': '0.2.2',
  rxjs: '7.8.2',
};
const NEST_12 = {
  ...OF_EACH,
  '@nestjs/common': '12.5.1',
  '@nestjs/core': '12.5.1',
  '@nestjs/swagger': '12.0.2',
  '@nestjs/testing': '12.1.1',
  'class-validator': '0.15.1',
  typescript: '6.0.3',
};
const JEST = { '@types/jest': '30.0.0', jest: '30.5.2', 'ts-jest': '29.4.15' };
/** JWTs load a package with import(), for which Jest needs the flag. */
const JEST_TESTS = { command: 'node --experimental-vm-modules node_modules/jest/bin/jest.js', types: 'jest' };

export const NEST_11: Layout = {
  name: 'Nest 11, CommonJS',
  type: 'commonjs',
  platforms: ['express', 'fastify'],
  resolutions: [{ module: 'node16' }, { module: 'esnext', moduleResolution: 'bundler' }],
  tests: JEST_TESTS,
  packages: {
    ...OF_EACH,
    ...JEST,
    '@nestjs/common': '11.2.10',
    '@nestjs/core': '11.2.10',
    '@nestjs/passport': '11.0.5',
    '@nestjs/platform-express': '11.2.10',
    '@nestjs/platform-fastify': '11.2.8',
    '@nestjs/swagger': '11.4.7',
    '@nestjs/testing': '11.2.6',
    'class-validator': '0.14.4',
    typescript: '5.9.3',
  },
};

export const NEST_12_COMMONJS: Layout = {
  name: 'Nest 12, CommonJS',
  type: 'commonjs',
  platforms: ['express'],
  resolutions: [{ module: 'node20' }],
  tests: JEST_TESTS,
  packages: {
    ...NEST_12,
    ...JEST,
    '@nestjs/platform-express': '12.5.1',
    '@swc/core': '1.16.18',
    '@swc/jest': '0.2.39',
    esbuild: '0.28.2',
  },
};

/** On Fastify alone: nothing of Express is installed. */
export const NEST_12_MODULES: Layout = {
  name: 'Nest 12, ES modules',
  type: 'module',
  platforms: ['fastify'],
  resolutions: [{ module: 'nodenext' }],
  tests: { command: 'npx --no-install vitest run --globals --dir src', types: 'vitest/globals' },
  packages: { ...NEST_12, '@nestjs/platform-fastify': '12.5.0', vitest: '4.1.12' },
};
