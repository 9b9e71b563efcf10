import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { OpenAPIObject } from '@nestjs/swagger';
import type { Platform } from '../platforms.js';
import type { GuestHostOptions } from './guest-host.js';
import { generateHostPrisma, type HostPrisma } from './host-prisma.js';
import { type Observation, observeHost } from './observe-host.js';

/** The document without all that the store adds to it. */
function withoutStore(document: OpenAPIObject): OpenAPIObject {
  const { '/api/v1/plants': path, ...paths } = document.paths;
  expect(path).toBeDefined();
  const { StoreNewPlant, StorePlant, StoreError, ...schemas } = document.components?.schemas ?? {};
  expect([StoreNewPlant, StorePlant, StoreError]).not.toContain(undefined);
  return { ...document, paths, components: { ...document.components, schemas } };
}

/** What hosts are to be with the store as a guest: as they were without. */
export function describeGoodGuest(...hosts: { platform: Platform; rawBody: boolean }[]): void {
  let prisma: HostPrisma;

  beforeAll(async () => {
    prisma = await generateHostPrisma();
  });
  afterAll(() => prisma.remove());

  describe.each(hosts)('a host on $platform with rawBody: $rawBody', ({ platform, rawBody }) => {
    let before: Observation;

    const observe = (options: Pick<GuestHostOptions, 'rawBody' | 'store'>): Promise<Observation> =>
      observeHost({ platform, prisma, ...options });

    beforeAll(async () => {
      before = await observe({ rawBody, store: 'none' });
      expect(before.plant).toMatch(/^HTTP\/1.1 404 /);
      expect(before.log.map(({ message }) => message)).toContain('orders: application shutdown ');
    });

    it.each(['first', 'last', 'exempt'] as const)('should stay as it was with the store: %s', async (store) => {
      const after = await observe({ rawBody, store });
      expect(after.plant).toMatch(/^HTTP\/1.1 200 [^]*\{"name":"Rose"\}$/);
      expect(after.answers).toEqual(before.answers);
      expect(withoutStore(after.document)).toEqual(before.document);
      expect(after.log).toEqual(before.log);
      expect(after.logOfNest).toEqual(before.logOfNest);
    });

    it('should be seen to change if something does', async () => {
      const { answers } = await observe({ rawBody: !rawBody, store: 'none' });
      const changed = Object.keys(answers).filter((name) => answers[name] !== before.answers[name]);
      expect(changed.length).toBeGreaterThan(5);
      expect(changed.every((name) => name.startsWith('POST /api/v1/bodies '))).toBe(true);
    });
  });
}
