import type { AbstractHttpAdapter } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { execFileSync } from 'node:child_process';
import type { Protocol } from '../service/store.js';
import type { Platform } from './platforms.js';

/** A new adapter of this platform, for an application of Nest. Only Fastify speaks HTTP/2. */
export function adapterOf(platform: Platform, protocol: Protocol = 'http'): AbstractHttpAdapter {
  if (protocol === 'h2c') return new FastifyAdapter({ http2: true });
  if (protocol === 'h2') return new FastifyAdapter({ http2: true, https: { ...selfSigned(), allowHTTP1: true } });
  return platform === 'express' ? new ExpressAdapter() : new FastifyAdapter();
}

function selfSigned(): { key: Buffer; cert: Buffer } {
  const options = '-x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=localhost -keyout - -out -';
  const pem = execFileSync('openssl', ['req', ...options.split(' ')], { stdio: ['ignore', 'pipe', 'ignore'] });
  return { key: pem, cert: pem };
}
