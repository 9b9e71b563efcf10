import { applyDecorators } from '@nestjs/common';
import { Transform, Type } from 'class-transformer';
import { IsIn, Matches } from 'class-validator';
import { AreAccessTokens, IsServerUrl } from '../auth/auth.options.js';
import { DAY_MS, DEFAULT_POOL_SIZE, MAX_POOL_SIZE, DEFAULT_STORAGE_TIMEOUT } from '../database/database.options.js';
import type { ErrorStatus } from '../errors/error-catalogue.js';
import {
  DEFAULT_BODY_LIMIT,
  DEFAULT_WRITE_QUEUE_LIMIT,
  ERROR_STATUSES,
  MAX_BODY_LIMIT,
  MAX_WRITE_QUEUE_LIMIT,
} from '../plants/plants.options.js';
import { IsIntBetween } from '../util/options.js';

/** A secret may also stand in the file that `<NAME>_FILE` names. No message shows it. */
export const SECRETS =
  'DATABASE_URL DATABASE_PASSWORD MIGRATION_DATABASE_URL MIGRATION_DATABASE_PASSWORD ACCESS_TOKENS'.split(' ');

const LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace'] as const;
const LOGGED = ['off', 'failures', 'all'] as const;
const PATH_PREFIX = /^(\/(?!\.{1,2}(\/|$))[A-Za-z0-9\-._~]+)*$/;
const ORIGIN = /^https?:\/\/[^\s/?#@]+$/i;
const HOST = /^(?:[\w.-]+|[\da-f:.]*:[\da-f:.]*(?:%\w+)?)$/i;

// By the declared types alone, class-transformer would take a blank for 0, and any word for true.
const Parse = (parse: (text: string) => unknown) => Transform(({ value }) => parse(value as string));
const LowerCase = () => Parse((text) => text.toLowerCase());
const List = (separator = /\s*,\s*/) => Parse((text) => text.split(separator).filter(Boolean));
const Integer = (min: number, max: number) =>
  applyDecorators(
    Type(() => Number),
    IsIntBetween(min, max),
  );
const OneOf = (words: readonly string[]) => applyDecorators(LowerCase(), IsIn(words));
const Host = () =>
  Matches(HOST, { message: '$property must be an IP address or a host name, without brackets and port' });

/** The variables of the service, with their defaults. `.env.example` says what each is for. */
export class Environment {
  @LowerCase()
  @Matches(/^(?:production$|(?!\W*prod))/, { message: 'NODE_ENV must be production, if that is meant' })
  NODE_ENV = 'development';
  @Integer(0, 65_535)
  PORT = 3000;
  @Host()
  HOST = '0.0.0.0';
  @Matches(PATH_PREFIX, { message: 'BASE_PATH must be a path such as /api/v1, with letters, digits and -._~ alone' })
  BASE_PATH = '';
  DATABASE_URL?: string;
  DATABASE_PASSWORD?: string;
  MIGRATION_DATABASE_URL?: string;
  MIGRATION_DATABASE_PASSWORD?: string;
  @Integer(1, MAX_POOL_SIZE)
  DATABASE_POOL_SIZE = DEFAULT_POOL_SIZE;
  @Integer(1, DAY_MS)
  STORAGE_TIMEOUT = DEFAULT_STORAGE_TIMEOUT;
  @List(/[\s,]+/)
  @AreAccessTokens()
  ACCESS_TOKENS: readonly string[] = [];
  @IsServerUrl()
  JWT_ISSUER?: string;
  @List()
  JWT_AUDIENCE: readonly string[] = [];
  @IsServerUrl()
  JWT_JWKS_URL?: string;
  @OneOf(['at+jwt'])
  JWT_TYP?: 'at+jwt';
  @Integer(1, MAX_BODY_LIMIT)
  BODY_LIMIT = DEFAULT_BODY_LIMIT;
  @List()
  @Matches(ORIGIN, { each: true, message: 'CORS_ORIGINS must be origins such as https://shop.example.com' })
  CORS_ORIGINS: readonly string[] = [];
  @Integer(1, MAX_WRITE_QUEUE_LIMIT)
  WRITE_QUEUE_LIMIT = DEFAULT_WRITE_QUEUE_LIMIT;
  @OneOf(ERROR_STATUSES)
  ERROR_STATUS: ErrorStatus = 'contract';
  @Integer(0, 65_535)
  MANAGEMENT_PORT = 9464;
  @Host()
  MANAGEMENT_HOST = '127.0.0.1';
  @Integer(1, DAY_MS)
  SHUTDOWN_TIMEOUT = 10_000;
  @Integer(0, DAY_MS)
  DRAIN_DELAY = 0;
  @Integer(1, 1_000_000)
  MAX_CONNECTIONS = 10_000;
  @OneOf(LEVELS)
  LOG_LEVEL: (typeof LEVELS)[number] = 'info';
  @OneOf(LOGGED)
  LOG_REQUESTS: (typeof LOGGED)[number] = 'failures';
  @OneOf(['on', 'off'])
  DOCS: 'on' | 'off' = 'on';
  @Integer(1, DAY_MS)
  REQUEST_TIMEOUT = 10_000;
}

/** The default of a variable, as a text. */
export function defaultText(name: string): string {
  return String(new Environment()[name as keyof Environment] ?? '');
}

/** Whether no token is configured. Then only issued tokens are valid. */
export function hasNoConfiguredToken({ ACCESS_TOKENS, JWT_ISSUER }: Environment): boolean {
  return ACCESS_TOKENS.length === 0 && JWT_ISSUER === undefined;
}
