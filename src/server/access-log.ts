import { Logger } from '@nestjs/common';
import type { ServerResponse } from 'node:http';
import { withoutTokens } from '../auth/token-format.js';
import type { Environment } from '../config/environment.js';
import { ACCESS_LOG_CONTEXT } from '../config/logger.js';
import { pathOf, requestContext, requestIdOf, type ResponseHook } from '../http/request-context.js';
import { escapeControls } from '../util/text.js';

/** Logs each answer, or only failures with their messages. No line holds a body, a query or a token. */
export class AccessLog implements ResponseHook {
  private readonly logger = new Logger(ACCESS_LOG_CONTEXT);

  constructor(private readonly environment: Pick<Environment, 'LOG_REQUESTS' | 'ACCESS_TOKENS'>) {}

  beforeHead(response: ServerResponse, durationMs: number): void {
    const { error, message, principal, plantId } = requestContext(response);
    if (error === 0 && this.environment.LOG_REQUESTS === 'failures') return;
    const { req: request } = response;
    this.logger.log(this.shown(message) ?? 'Answered', {
      requestId: requestIdOf(response),
      client: request.socket.remoteAddress,
      // The value as sent. Anybody may write it, and only the proxy in front knows whether it is true.
      forwardedFor: this.shown(request.headers['x-forwarded-for']?.toString()),
      method: request.method ?? undefined,
      path: this.shown(pathOf(request)),
      error,
      durationMs: Math.round(durationMs * 1000) / 1000,
      principal: principal?.name,
      plantId: plantId?.toString(),
    });
  }

  /** Text of a client, without access tokens and safe for a terminal. Undefined if it is empty. */
  private shown(text = ''): string | undefined {
    let plain = withoutTokens(text);
    for (const token of this.environment.ACCESS_TOKENS) plain = plain.replaceAll(token, '[access token]');
    return escapeControls(plain) || undefined;
  }
}
