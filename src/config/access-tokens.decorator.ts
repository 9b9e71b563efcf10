import { applyDecorators } from '@nestjs/common';
import { Transform } from 'class-transformer';
import { accessTokensFault } from '../auth/static-tokens.js';
import { Check } from './check.decorator.js';

/** Bearer tokens, separated by commas or white space. A fault tells the position of a token, never the token. */
export function AccessTokens(): PropertyDecorator {
  return applyDecorators(
    Transform(({ value }) => (value as string).split(/[\s,]+/).filter((token) => token !== '')),
    Check('accessTokens', (value) => accessTokensFault(value as string[])),
  );
}
