import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { describeInBrowser, openBrowser } from '../support/documents/browser.js';
import { ClientSite } from '../support/documents/client-site.js';
import { ProxiedStore } from '../support/service/proxied-store.js';
import { TOKEN } from '../support/service/store.js';

describeInBrowser('the client in a page of another origin', () => {
  let browser: Browser;
  let site: ClientSite;
  let page: Page;
  let store: ProxiedStore;

  beforeAll(async () => {
    browser = await openBrowser();
    site = await ClientSite.start();
    page = await browser.newPage();
    await page.goto(site.origin);
  });
  afterAll(async () => {
    await browser.close();
    await site[Symbol.asyncDispose]();
  });
  afterEach(() => store.stop());

  /** Creates a plant in the page; resolves to what the page can tell of the outcome. */
  function create(id: bigint, token = TOKEN): Promise<unknown> {
    const options = JSON.stringify({ baseUrl: `http://127.0.0.1:${store.port}`, token, retries: 0 });
    return page.evaluate(`(async () => {
      const { PlantStoreClient, RequestError } = await import('plant-store/client');
      try {
        return await new PlantStoreClient(${options}).create({ id: ${id}n, name: 'Rose' });
      } catch (failure) {
        const { name, message } = failure;
        return { ...failure, name, message, isRequestError: failure instanceof RequestError };
      }
    })()`);
  }

  it('should create a plant, its id exact, once', async () => {
    store = await ProxiedStore.start({ CORS_ORIGINS: site.origin });
    const id = 2n ** 53n + 1n;
    expect(await create(id)).toEqual({ name: 'Rose' });
    expect(await create(id)).toMatchObject({ name: 'PlantStoreError', error: 40901, retryable: false });
    const rows = await store.database.query('SELECT id, name, length(idempotency_key) AS key FROM plants');
    expect(rows).toEqual([{ id: id.toString(), name: 'Rose', key: 32 }]);
  });

  it('should learn when to try again, and under which id the failure is logged', async () => {
    store = await ProxiedStore.start({ CORS_ORIGINS: site.origin, ERROR_STATUS: 'semantic' });
    store.proxy.reset();
    expect(await create(1n)).toMatchObject({
      isRequestError: true,
      error: 50300,
      status: 503,
      retryable: true,
      retryAfter: 1,
      requestId: expect.stringMatching(/^[\w-]+$/),
      message: expect.stringContaining('Nothing was written'),
    });
    expect(await create(1n, 'another-token-of-the-tests')).toMatchObject({ error: 40101, status: 401 });
  });

  it('should say that the service may not know the origin, if it does not', async () => {
    store = await ProxiedStore.start({});
    expect(await create(1n)).toMatchObject({
      isRequestError: true,
      name: 'NetworkError',
      retryable: true,
      message: expect.stringMatching(/CORS_ORIGINS/),
    });
    expect(await store.storedIds()).toEqual([]);
  });
});
