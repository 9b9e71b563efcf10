// Makes one file of a host on Fastify, compiled before. The host calls SwaggerModule.setup() with { ui: false }.
import { build } from 'esbuild';

await build({
  entryPoints: ['dist/main.js'],
  outfile: 'bundle/host.cjs',
  bundle: true,
  platform: 'node',
  // The log and OpenAPI documents have the names of classes.
  keepNames: true,
  // What Nest, Fastify and pg load only if it is installed.
  external: [
    '@fastify/multipart',
    '@fastify/static',
    '@fastify/view',
    '@nestjs/microservices',
    // Of the other platform.
    '@nestjs/platform-express',
    '@nestjs/websockets',
    'class-transformer/storage',
    'pg-native',
  ],
  define: { 'import.meta.url': 'bundleUrl' },
  banner: { js: `const bundleUrl = require('node:url').pathToFileURL(__filename).href;` },
});
