import { beforeEach, describe, expect, it } from '@jest/globals';
import { expectRefusal } from '../support/http/refusal.js';
import { requestHead } from '../support/http/request.js';
import type { ContractTarget } from './contract-target.js';
import { expectCreated } from './expect-created.js';
import { expectNothingWritten } from './expect-nothing-written.js';
import { removePlants } from './stored-plants.js';

const PLANT = '{"id": 1, "name": "Rose"}';
const PLANTS = '{plants}';

/** Ways to write the path of the plants. */
const THE_PATH = [
  PLANTS,
  `${PLANTS}?`,
  `${PLANTS}?x=1`,
  `${PLANTS}?/other`,
  `${PLANTS}?%`,
  `${PLANTS}?a#b`,
  `${PLANTS}?%ff`,
  `${PLANTS}?a[b][c]=1&a[b]=2&__proto__[x]=1`,
  `http://localhost${PLANTS}`,
  `http://other.example:8080${PLANTS}?x=1`,
  `HTTPS://localhost${PLANTS}`,
];

const OTHER_PATHS = [
  '/',
  '//',
  '/?',
  '*',
  `${PLANTS}/`,
  `${PLANTS}//`,
  `${PLANTS}/?x=1`,
  `/${PLANTS}`,
  `${PLANTS}/1`,
  `${PLANTS}.json`,
  `${PLANTS};v=1`,
  `${PLANTS}%20`,
  `${PLANTS}%00`,
  `${PLANTS}%2f`,
  `${PLANTS}%3Fx=1`,
  `${PLANTS}\\`,
  `${PLANTS}#x`,
  `${PLANTS}#x?y`,
  `/.${PLANTS}`,
  `/x/..${PLANTS}`,
  `${PLANTS}/../plants`,
  `/..${PLANTS}`,
  '/PLANTS',
  '/Plants',
  '/plant',
  '/plantss',
  '/pl%61nts',
  '/%70lants',
  '/%',
  '/%2',
  '/%ff',
  '/%zz?x=1',
  '/%c0%af',
  '/%00',
  '/unknown',
  '/__proto__',
  '/constructor',
  '/docs/',
  '/docs/x',
  '/openapi.json/',
  '/openapi.yaml',
  '/docs-json',
  '/metrics',
  '/livez',
  '/readyz',
  'http://localhost',
  'http://localhost/',
  'http://localhost/%',
  `/x?${PLANTS}`,
];

type Request = (path: string, authorization?: { Authorization: undefined }) => ReturnType<ContractTarget['raw']>;

function requestTo(target: () => ContractTarget): Request {
  return (path, authorization) => {
    const written = path.replace(PLANTS, `${target().basePath}/plants`);
    const head = requestHead(`POST ${written} HTTP/1.1`, {
      'Content-Type': 'application/json',
      'Content-Length': String(PLANT.length),
      ...authorization,
    });
    return target().raw(head, PLANT);
  };
}

/**
 * What is the path; what is not may be somebody else's.
 *
 * @param isRouted whether the router of the host knows this spelling
 */
export function describeThePath(target: () => ContractTarget, isRouted: (path: string) => boolean = () => true): void {
  const request = requestTo(target);
  beforeEach(() => removePlants(target()));

  describe('the path', () => {
    it.each(THE_PATH.filter(isRouted))('may be written %s', async (path) => {
      expectCreated(await request(path), { name: 'Rose' });
    });

    it('may be followed by a long query', async () => {
      expectCreated(await request(`${PLANTS}?${'x'.repeat(8000)}`), { name: 'Rose' });
    });
  });
}

export function describePaths(target: () => ContractTarget): void {
  const request = requestTo(target);
  describeThePath(target);

  describe('the path', () => {
    it.each(OTHER_PATHS)('should not be %s', async (path) => {
      const message = await expectNothingWritten(target(), await request(path), 40400);
      expect(message).toMatch(/POST .*\/plants\b/);
    });

    it.each([...THE_PATH, ...OTHER_PATHS])('should ask for a credential first: %s', async (path) => {
      await expectNothingWritten(target(), await request(path, { Authorization: undefined }), 40100);
    });

    it('should not be without its base', async () => {
      const { basePath } = target();
      if (basePath !== '') await expectNothingWritten(target(), await request('/plants'), 40400);
      await expectNothingWritten(target(), await request(`/x${basePath}/plants`), 40400);
    });
  });

  describe('the documentation', () => {
    it.each([
      ['/docs', 'text/html'],
      ['/openapi.json', 'application/json'],
    ])('should need no credential, and be at the root: %s', async (path, type) => {
      const response = await target().raw(requestHead(`GET ${path} HTTP/1.1`, { Authorization: undefined }));
      expect(response.status).toBe(200);
      expect(response.headers['content-type']).toMatch(new RegExp(`^${type}(?:;|$)`));
    });

    it.each(['/docs', '/openapi.json'])('should not be written to: %s', async (path) => {
      expectRefusal(await request(path), 40400, target().errorStatus);
      expectRefusal(await request(path, { Authorization: undefined }), 40100, target().errorStatus);
    });
  });
}
