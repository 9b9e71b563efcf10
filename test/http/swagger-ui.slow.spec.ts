import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';
import { TOKEN } from '../support/http/request.js';
import { describeWith } from '../support/service/process.js';
import { startStore, type Store } from '../support/service/store.js';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const executablePath =
  process.env.CHROMIUM_PATH ?? spawnSync('which', NAMES, { encoding: 'utf8' }).stdout.split('\n')[0];
const missing = `none of ${NAMES.join()} is installed, and CHROMIUM_PATH names no other browser.`;

describeWith(executablePath ? undefined : missing, 'Swagger UI', () => {
  let home: string;
  let browser: Browser;
  let store: Store;
  let page: Page;
  /** What a page should not do: errors in its console, and requests to anybody but the store. */
  let complaints: string[];
  let sent: string[];

  beforeAll(async () => {
    store = await startStore({ BASE_PATH: '/api/v1' });
    // So that nothing is left behind.
    home = await mkdtemp(join(tmpdir(), 'plant-store-browser-'));
    const env = { ...process.env, HOME: home, TMPDIR: home, XDG_CONFIG_HOME: home, XDG_CACHE_HOME: home };
    // Root has no sandbox.
    const args = ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update'];
    browser = await chromium.launch({ executablePath: String(executablePath), args, env });
  });
  afterAll(async () => {
    await browser.close();
    await rm(home, { recursive: true, maxRetries: 5 });
    await store.stop();
  });
  beforeEach(async () => {
    [complaints, sent] = [[], []];
    page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
    page.on('request', (request) => {
      sent.push(JSON.stringify([request.method(), request.url(), request.postData(), request.headers()]));
      if (!/^(http:\/\/127\.0\.0\.1:|data:)/.test(request.url())) complaints.push(request.url());
    });
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
    });
  });
  afterEach(() => page.close());

  const click = (name: string): Promise<void> => page.getByRole('button', { name }).click();
  const open = async (path: string): Promise<void> => {
    await page.goto(`http://127.0.0.1:${store.port}${path}`);
    await click('Try it out');
  };
  const createExample = async (): Promise<void> => {
    await click('Execute');
    await page.locator('.live-responses-table tr.response', { hasText: '"Rose"' }).waitFor();
  };

  // The key of the example makes each click after the first one a repetition.
  it.each(['/docs', '/docs/index.html'])(
    'should take the token out of the address %s, keep it nowhere, and send it to the operation only',
    async (path) => {
      await open(`${path}#token=${TOKEN}`);
      await createExample();
      expect(await page.evaluate('location.href')).toMatch(/\/docs\/?$/);
      const kept = '[localStorage.length, sessionStorage.length, document.cookie]';
      expect(await page.evaluate(kept)).toEqual([0, 0, '']);
      const withToken = sent.filter((request) => request.includes(TOKEN));
      expect(withToken).toEqual([expect.stringMatching(/^\["POST","[^"]+\/api\/v1\/plants"/)]);
      expect(complaints).toEqual([]);
    },
  );

  it('should create a plant behind a proxy that takes a prefix away', async () => {
    await page.route('**/garden/**', (route) =>
      route.continue({ url: route.request().url().replace('/garden/', '/') }),
    );
    await open(`/garden/docs#token=${TOKEN}`);
    await createExample();
    expect(sent.filter((request) => !/^\["\w+","(?:data:|[^"]+\/garden\/)/.test(request))).toEqual([]);
    expect(complaints).toEqual([]);
  });
});
