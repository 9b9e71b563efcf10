import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { StartedTarget } from '../contract/running-target.js';
import { startHost } from '../support/host/host.js';
import { DECORATIONS, tracing } from '../support/host/instrument.js';
import { PLATFORMS } from '../support/host/platforms.js';
import { requestHead } from '../support/http/request.js';

const OF_THE_STORE = /^(?:BearerAuthGuard|PlantsController|PlantsService)\.(?!get)/;

describe.each(PLATFORMS)('the store in a host on %s that decorates instances', (platform) => {
  describe.each(DECORATIONS)('and calls methods %s', (decoration) => {
    const calls: string[] = [];
    let target: StartedTarget;

    beforeAll(async () => {
      const instanceDecorator = tracing(decoration, (call) => calls.push(call));
      target = await startHost({ platform, body: 'exempt', instanceDecorator });
    });
    afterAll(() => target.stop());
    beforeEach(() => {
      calls.length = 0;
    });

    it('should show its guard, its controller and its service by their names', async () => {
      const { status, body } = await target.post('{"id": 9007199254740993, "name": "Rose"}');
      expect([status, body]).toEqual([200, '{"name":"Rose"}']);
      expect(calls.filter((call) => OF_THE_STORE.test(call))).toEqual(
        expect.arrayContaining(['BearerAuthGuard.canActivate', 'PlantsController.create', 'PlantsService.create']),
      );
    });

    it('should refuse other methods in its controller', async () => {
      const { status, body } = await target.raw(requestHead('GET /api/v1/plants HTTP/1.1'));
      expect([status, JSON.parse(body)]).toMatchObject([400, { error: 40500 }]);
      expect(calls).toContain(`PlantsController.${platform === 'express' ? 'refuse' : 'create'}`);
    });

    it('should refuse a wrong token', async () => {
      const Authorization = 'Bearer a-token-that-nobody-has-issued';
      const { status, body } = await target.post('{"id": 1, "name": "Rose"}', { Authorization });
      expect([status, JSON.parse(body)]).toMatchObject([400, { error: 40101 }]);
      expect(calls).not.toContain('PlantsController.create');
    });
  });
});
