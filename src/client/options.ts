/** How a client reaches its plant store. */
export interface PlantStoreClientOptions {
  /** The http or https URL in front of `/plants`, base path included. In a browser it may be relative to the page. */
  baseUrl: string;
  /** The access token, or a function that gives it: called for every attempt, so that it can hand out a fresh one. */
  token: string | (() => string | Promise<string>);
  /** Milliseconds that one attempt may take. The default, 15000, is what the service allows itself by default. */
  timeout?: number;
  /** How often a failure that is `retryable` is followed by another attempt: 3 times by default. */
  retries?: number;
  /** Milliseconds before the first repetition, at most; doubled for each further one. 200 by default. */
  retryDelay?: number;
  /** Milliseconds between two attempts, at most: 30000 by default. A longer `Retry-After` is not waited for, but thrown. */
  maxRetryDelay?: number;
  /** In place of the global `fetch`, for a proxy or a trace. */
  fetch?: (request: Request) => Promise<Response>;
}

/** The options of a client, all that have a default being given. */
export type ResolvedOptions = PlantStoreClientOptions & Required<Omit<PlantStoreClientOptions, 'fetch'>>;

const NAMES = [
  'baseUrl',
  'token',
  'timeout',
  'retries',
  'retryDelay',
  'maxRetryDelay',
  'fetch',
] satisfies (keyof PlantStoreClientOptions)[];
/** A timer with a longer time would not wait at all. */
const MAX_TIMER_MS = 2 ** 31 - 1;
const TOKEN = /^[\w\-.~+/]+=*$/;

/** The options with their defaults. @throws TypeError that names the one that cannot be, without showing a secret */
export function resolveOptions(given: PlantStoreClientOptions): ResolvedOptions {
  checkObject('options', given, `with ${NAMES.join(', ')}`);
  checkNames(given);
  const { timeout = 15_000, retries = 3, retryDelay = 200, maxRetryDelay = 30_000, ...options } = given;
  if (typeof options.token !== 'function') checkToken(options.token);
  checkWholeNumber('timeout', timeout, 1);
  checkWholeNumber('retries', retries, 0);
  checkWholeNumber('retryDelay', retryDelay, 0);
  checkWholeNumber('maxRetryDelay', maxRetryDelay, 0);
  checkFetch(options.fetch);
  const baseUrl = withoutTrailingSlash(options.baseUrl);
  return { ...options, baseUrl, timeout, retries, retryDelay, maxRetryDelay };
}

/** RFC 6750, section 2.1. The runtime's own complaint about such a header would show the token. */
export function checkToken(token: unknown): asserts token is string {
  if (typeof token === 'string' && TOKEN.test(token)) return;
  throw new TypeError('token must be, or give, a bearer token: letters, digits and -._~+/, with = at the end only.');
}

/** @throws TypeError for what is no object; `right` says which kind would be */
export function checkObject(name: string, value: unknown, right: string): asserts value is object {
  if (typeof value === 'object' && value !== null) return;
  const found = value == null ? String(value) : `of type ${typeof value}`;
  throw new TypeError(`${name} is ${found}; it must be an object ${right}.`);
}

/** A misspelt option would be ignored. */
function checkNames(options: object): void {
  const known: readonly string[] = NAMES;
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  throw new TypeError(`${unknown} is no option; the options are ${NAMES.join(', ')}.`);
}

function checkWholeNumber(name: string, value: number, min: number): void {
  if (Number.isInteger(value) && value >= min && value <= MAX_TIMER_MS) return;
  throw new TypeError(`${name} is ${value}; it must be a whole number from ${min} to ${MAX_TIMER_MS}.`);
}

function checkFetch(fetch: unknown): void {
  if (fetch === undefined || typeof fetch === 'function') return;
  throw new TypeError('fetch must be a function that takes a Request and gives a Promise of its Response.');
}

function withoutTrailingSlash(baseUrl: unknown): string {
  if (typeof baseUrl === 'string') {
    const trimmed = baseUrl.replace(/\/$/, '');
    if (isRequestable(`${trimmed}/plants`)) return trimmed;
  }
  throw new TypeError(
    'baseUrl must be the http or https URL in front of /plants, without user name, query and fragment, ' +
      'such as https://plants.example/api; outside of browsers it cannot be relative.',
  );
}

function isRequestable(url: string): boolean {
  try {
    const { protocol, search, hash } = new URL(new Request(url).url);
    return /^https?:$/.test(protocol) && search === '' && hash === '';
  } catch {
    return false;
  }
}
