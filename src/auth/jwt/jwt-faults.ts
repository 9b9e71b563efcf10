import { describeOption, unknownNames } from '../../util/options.js';
import { isHttpUrl } from './jwt-rules.js';

const NAMES = ['issuer', 'audience', 'jwksUrl'];

/** Everything that is wrong with the option `jwt`, one line each. JavaScript has no types, so all is checked. */
export function jwtFaults(options: unknown): string[] {
  if (options === undefined) return [];
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    return [`jwt: ${describeOption(options)}, should be { issuer, audience }: whose JWTs are access tokens`];
  }
  const { issuer, audience, jwksUrl } = options as Record<string, unknown>;
  return [
    ...unknownNames(options, NAMES, 'jwt.'),
    ...(isHttpUrl(issuer) ? [] : [urlFault('issuer', issuer, 'without user, query or fragment')]),
    ...audienceFaults(audience),
    ...(jwksUrl === undefined || isHttpUrl(jwksUrl, { query: true })
      ? []
      : [urlFault('jwksUrl', jwksUrl, 'without user or fragment')]),
  ];
}

function urlFault(name: string, value: unknown, without: string): string {
  const what = typeof value === 'string' ? 'is a string that is none' : describeOption(value);
  return `jwt.${name}: ${what}, should be an http or https URL ${without}`;
}

function audienceFaults(audience: unknown): string[] {
  const audiences = Array.isArray(audience) ? (audience as unknown[]) : [audience];
  if (audiences.length > 0 && audiences.every((one) => typeof one === 'string' && one !== '')) return [];
  const what =
    audience === '' || audiences.length === 0
      ? 'is empty'
      : Array.isArray(audience)
        ? 'has something that is no text, or an empty one'
        : describeOption(audience);
  return [`jwt.audience: ${what}, should be what the "aud" of JWTs for this service has, a string or an array of them`];
}
