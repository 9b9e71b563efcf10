import { applyDecorators } from '@nestjs/common';
import { Check } from './check.decorator.js';
import { HttpUrl } from './http-url.decorator.js';
import { TextList } from './text-list.decorator.js';

const WITHOUT_ISSUER = 'is set without JWT_ISSUER: should be left out, or that set';

/** Several texts, which an issuer needs, and which need an issuer. */
export function JwtAudience(): PropertyDecorator {
  return applyDecorators(
    TextList(),
    Check('jwtAudience', (audiences, { jwtIssuer }) => {
      const isMissing = (audiences as string[]).length === 0;
      if (jwtIssuer === undefined) return isMissing ? undefined : WITHOUT_ISSUER;
      return isMissing
        ? 'is missing, should be what the issuer puts into the "aud" of JWTs for this service'
        : undefined;
    }),
  );
}

/** A URL, which needs an issuer. */
export function JwtJwksUrl(): PropertyDecorator {
  return applyDecorators(
    HttpUrl({ query: true }),
    Check('jwtJwksUrl', (url, { jwtIssuer }) =>
      url !== undefined && jwtIssuer === undefined ? WITHOUT_ISSUER : undefined,
    ),
  );
}
