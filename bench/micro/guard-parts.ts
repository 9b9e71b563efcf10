import type { INestApplicationContext } from '@nestjs/common';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { ACCESS_TOKEN } from '../server/target-server.js';
import { loadBuild } from './load-build.js';
import type { Part } from './part.js';

/** The guard with the whole of passport behind it, for a request whose token is valid. */
export async function guardParts(app: INestApplicationContext): Promise<Part[]> {
  const { BearerAuthGuard } = await loadBuild<typeof import('../../src/index.js')>('index.js');
  const guard = app.get(BearerAuthGuard, { strict: false });
  const run = (): unknown => {
    // Made anew, as each request is, so that nothing that is kept at it counts.
    const request = new IncomingMessage(socket);
    request.rawHeaders = ['Host', 'localhost', 'Authorization', `Bearer ${ACCESS_TOKEN}`];
    return guard.canActivate(new ExecutionContextHost([request, new ServerResponse(request)], null, handler));
  };
  return [{ title: 'bearer guard, with a new request', run, concurrency: 1 }];
}

const socket = new Socket();
const handler = (): void => undefined;
