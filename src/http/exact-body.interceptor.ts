import { type CallHandler, type ExecutionContext, Inject, Injectable, type NestInterceptor } from '@nestjs/common';
import type { Observable } from 'rxjs';
import { BODY_LIMIT } from './body-limit.token.js';
import { readJsonObject } from './body-reader.js';
import { revealMediaType } from './hidden-media-type.js';
import { nodeRequest, nodeResponse, type PlatformRequest, type PlatformResponse } from './platform.js';

/** Reads the body of a route. An interceptor, because those run after the guards: no byte is parsed without a credential. */
@Injectable()
export class ExactBodyInterceptor implements NestInterceptor {
  constructor(@Inject(BODY_LIMIT) private readonly limit: number) {}

  async intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    const http = context.switchToHttp();
    const request = http.getRequest<PlatformRequest>();
    revealMediaType(nodeRequest(request));
    request.body = await readJsonObject(request, nodeResponse(http.getResponse<PlatformResponse>()), this.limit);
    return next.handle();
  }
}
