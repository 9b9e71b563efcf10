import type { PipeTransform, Type } from '@nestjs/common';
import { ExactBodyPipe } from './sealed-body.js';
import type { JsonObject } from './json-value.js';
import type { Sealed } from './sealed.js';
import { SealedExchange } from './sealed-exchange.decorator.js';

/**
 * What this pipe makes of the body, whose numbers are as they were written. Unlike that of `@Body()`, an application's global
 * pipes can't touch it.
 */
export const ExactBody = (pipe: Type<PipeTransform<Sealed<JsonObject>>>): ParameterDecorator =>
  SealedExchange(ExactBodyPipe, pipe);
