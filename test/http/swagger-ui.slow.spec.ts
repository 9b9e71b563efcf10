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
      // A browser reports an answer of status 400 too, which here was asked for.
      const isAsked = message.text().startsWith('Failed to load') && message.location().url.endsWith('/plants');
      if (['error', 'warning'].includes(message.type()) && !isAsked) complaints.push(message.text());
    });
  });
  afterEach(() => page.close());

  const click = (name: string): Promise<void> => page.getByRole('button', { name }).click();
  const open = async (path: string): Promise<void> => {
    await page.goto(`http://127.0.0.1:${store.port}${path}`);
    await click('Try it out');
  };
  /** Clicks on "Execute", and waits for an answer with this status and this text. */
  const execute = async (status: number, text: string): Promise<string> => {
    await click('Execute');
    const hasStatus = page.locator('.response-col_status', { hasText: String(status) });
    const rows = page.locator('.live-responses-table tr.response').filter({ has: hasStatus });
    return await rows.filter({ hasText: text }).innerText();
  };

  it('should create the plant of the example with a token that was typed, and say why another is refused', async () => {
    await open('/docs');
    await click('Authorize');
    const dialog = page.locator('.modal-ux');
    await dialog.getByLabel('auth-bearer-value').fill(TOKEN);
    await dialog.getByRole('button', { name: 'Apply credentials' }).click();
    await dialog.getByRole('button', { name: 'Close' }).click();
    expect(await execute(200, '"Rose"')).toContain('"tag": "flower"');
    const rows = await store.database.query('SELECT name, tag FROM plants WHERE id = 1');
    expect(rows).toEqual([{ name: 'Rose', tag: 'flower' }]);
    await page.locator('textarea.body-param__text').fill('{"id": 1, "name": "Fern"}');
    expect(await execute(400, '40902')).toContain('The plant 1 was created with this Idempotency-Key');
    expect(complaints).toEqual([]);
  });

  // The key of the example makes each click after the first one a repetition.
  it.each(['/docs', '/docs/index.html'])(
    'should take the token out of the address %s, keep it nowhere, and send it to the operation only',
    async (path) => {
      await open(`${path}#token=${TOKEN}`);
      await execute(200, '"Rose"');
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
    await execute(200, '"Rose"');
    expect(sent.filter((request) => !/^\["\w+","(?:data:|[^"]+\/garden\/)/.test(request))).toEqual([]);
    expect(complaints).toEqual([]);
  });
});
