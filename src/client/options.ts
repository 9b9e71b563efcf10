import { RequestError } from './errors.js';

/** Where the plant store is, and how often a client tries. */
export interface PlantStoreClientOptions {
  /** The http or https URL in front of `/plants`, and without it; with the base path. In a browser it may be relative to the page. */
  baseUrl: string;
  /** The access token, or a function that returns it, or a promise of it: called for every attempt, so it can return a fresh one. */
  token: string | (() => string | Promise<string>);
  /** Milliseconds that one attempt may take, at least 1. The default is what the service allows itself by default. @defaultValue 15000 */
  timeout?: number;
  /** Number of repetitions of a `retryable` failure, 0 for none. @defaultValue 3 */
  retries?: number;
  /** Maximum milliseconds before the first repetition; doubled for each further one. @defaultValue 200 */
  retryDelay?: number;
  /** Maximum milliseconds between two attempts; with a longer `Retry-After` the failure is thrown instead. @defaultValue 30000 */
  maxRetryDelay?: number;
  /** Replaces the global `fetch`, for a proxy or a trace. @defaultValue the global `fetch` */
  fetch?: (request: Request) => Promise<Response>;
}

/** Options of one create. A `RequestError` is one too: `create(plant, failure)` repeats a create with its key. */
export interface CreateOptions {
  /** Ends the create at once: before the first attempt, in one, or between two. `timeout` limits each attempt. @defaultValue none */
  signal?: AbortSignal | undefined;
  /** A key of yours to repeat the create with: 1 to 255 characters of ASCII, no space at either end. @defaultValue that of `newIdempotencyKey()` */
  idempotencyKey?: string | undefined;
}

/** Options that are whole numbers: the default and the minimum of each. */
const NUMBERS = { timeout: [15_000, 1], retries: [3, 0], retryDelay: [200, 0], maxRetryDelay: [30_000, 0] } as const;
const NAMES = ['baseUrl', 'token', ...Object.keys(NUMBERS), 'fetch'];
const CREATE_NAMES = ['signal', 'idempotencyKey'] satisfies (keyof CreateOptions)[];
/** A timer with a longer time would not wait at all. */
const MAX_TIMER_MS = 2 ** 31 - 1;
const IDEMPOTENCY_KEY = /^[\x21-\x7e](?:[\x20-\x7e]{0,253}[\x21-\x7e])?$/;
const TOKEN = /^[\w\-.~+/]+=*$/;

/** The options with their defaults. @throws TypeError that names the invalid one, without showing a secret */
export function resolveOptions(given: PlantStoreClientOptions): Required<PlantStoreClientOptions> {
  checkObject('options', given, `with ${NAMES.join(', ')}`);
  checkNames(given, NAMES);
  // fetch is looked up for each request: a test may replace it meanwhile.
  const { token, fetch = (request) => globalThis.fetch(request) } = given;
  if (typeof token !== 'function') checkToken(token);
  const numbers = (Object.keys(NUMBERS) as (keyof typeof NUMBERS)[]).map((name) => {
    const [initial, min] = NUMBERS[name];
    const { [name]: value = initial } = given;
    checkWholeNumber(name, value, min);
    return [name, value];
  });
  if (typeof fetch !== 'function')
    throw new TypeError('fetch must be a function that takes a Request and gives a Promise of its Response.');
  const baseUrl = withoutTrailingSlash(given.baseUrl);
  return { baseUrl, token, fetch, ...(Object.fromEntries(numbers) as Record<keyof typeof NUMBERS, number>) };
}

/** @throws TypeError that names the invalid option of a create */
export function checkCreateOptions(options: CreateOptions): void {
  checkObject('options', options, `with ${CREATE_NAMES.join(' or ')}`);
  // The members of a signal are inherited, so checkNames would find no unknown name.
  if ('aborted' in options) throw new TypeError('options is an AbortSignal; write { signal }.');
  // A failed create may be given as it is, for its key.
  if (!(options instanceof RequestError)) checkNames(options, CREATE_NAMES);
  const { signal, idempotencyKey } = options;
  if (signal !== undefined) checkSignal(signal);
  if (idempotencyKey !== undefined && !(typeof idempotencyKey === 'string' && IDEMPOTENCY_KEY.test(idempotencyKey)))
    throw new TypeError('idempotencyKey must have 1 to 255 characters of ASCII, without a space at either end.');
}

/** RFC 6750, section 2.1. The runtime's own complaint about such a header would show the token. */
export function checkToken(token: unknown): asserts token is string {
  if (typeof token === 'string' && TOKEN.test(token)) return;
  throw new TypeError('token must be, or give, a bearer token: letters, digits and -._~+/, with = at the end only.');
}

/** @throws TypeError unless it is an object; `right` says what kind is expected */
export function checkObject(name: string, value: unknown, right: string): asserts value is object {
  if (typeof value === 'object' && value !== null) return;
  throw new TypeError(`${name} is ${kindOf(value)}; it must be an object ${right}.`);
}

function kindOf(value: unknown): string {
  return value == null || typeof value === 'number' ? String(value) : `of type ${typeof value}`;
}

/** A misspelt option would be ignored. */
function checkNames(options: object, names: readonly string[]): void {
  const unknown = Object.keys(options).find((name) => !names.includes(name));
  if (unknown === undefined) return;
  throw new TypeError(`${unknown} is no option; the options are ${names.join(', ')}.`);
}

function checkWholeNumber(name: string, value: unknown, min: number): void {
  if (Number.isInteger(value) && Number(value) >= min && Number(value) <= MAX_TIMER_MS) return;
  throw new TypeError(`${name} is ${kindOf(value)}; it must be a whole number from ${min} to ${MAX_TIMER_MS}.`);
}

/** By what the client calls: a signal may be of another window, or of a library. */
function checkSignal(signal: Partial<AbortSignal> | null): void {
  if (typeof signal?.throwIfAborted === 'function' && typeof signal.addEventListener === 'function') return;
  const found = typeof signal === 'object' && signal !== null ? 'no AbortSignal' : kindOf(signal);
  throw new TypeError(`signal is ${found}; it must be an AbortSignal, such as the signal of an AbortController.`);
}

function withoutTrailingSlash(baseUrl: unknown): string {
  if (typeof baseUrl === 'string') {
    const trimmed = baseUrl.replace(/\/+$/, '');
    if (isRequestable(`${trimmed}/plants`)) return trimmed;
  }
  const found = typeof baseUrl === 'string' ? 'is not usable' : `is ${kindOf(baseUrl)}`;
  throw new TypeError(
    `baseUrl ${found}; it must be a string: the http or https URL in front of /plants, without user name, query and ` +
      'fragment, such as https://plants.example/api; outside of browsers it cannot be relative.',
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
