import { build } from 'esbuild';

const shared = {
  entryPoints: ['dist/main.js'],
  bundle: true,
  platform: 'node',
  target: 'node20',
  // The log and OpenAPI documents have the names of classes.
  keepNames: true,
  // What Nest, pg and the store load only if it is installed.
  external: [
    '@fastify/multipart',
    '@fastify/static',
    '@fastify/view',
    '@nestjs/microservices',
    '@nestjs/websockets',
    'class-transformer/storage',
    'pg-native',
  ],
};
await build({
  ...shared,
  outfile: 'bundle/cjs/host.cjs',
  define: { 'import.meta.url': 'bundleUrl' },
  banner: { js: `const bundleUrl = require('node:url').pathToFileURL(__filename).href;` },
});
await build({
  ...shared,
  outfile: 'bundle/esm/host.mjs',
  format: 'esm',
  banner: {
    js: `import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);`,
  },
});
