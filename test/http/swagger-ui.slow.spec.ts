import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { Browser, BrowserContextOptions } from 'playwright-core';
import { ERROR_CATALOGUE } from '../../src/errors/error-catalogue.js';
import { describeInBrowser, openBrowser } from '../support/documents/browser.js';
import { SwaggerUiPage } from '../support/documents/swagger-ui-page.js';
import { startStore, type Store, TOKEN } from '../support/service/store.js';

/** Where to write the picture of the page that the README shows. */
const { SWAGGER_UI_PICTURE } = process.env;
/** That of SECURITY.md. */
const EXAMPLE_TOKEN = 'plant_EXAMPLEexampleEXAMPLEexample00002T8eec';

describeInBrowser('Swagger UI', () => {
  let browser: Browser;
  let store: Store;
  let ui: SwaggerUiPage | undefined;

  beforeAll(async () => {
    browser = await openBrowser();
  });
  afterAll(() => browser.close());
  beforeEach(async () => {
    store = await startStore();
  });
  afterEach(async () => {
    await ui?.page.close();
    await store.stop();
  });

  const open = async (path = '/docs', options?: BrowserContextOptions): Promise<SwaggerUiPage> => {
    ui = await SwaggerUiPage.open(browser, `http://127.0.0.1:${store.port}${path}`, options);
    return ui;
  };
  const LINK = `/docs#token=${TOKEN}`;

  it('should create the plant of the example, and the second time say that its id is taken', async () => {
    const ui = await open();
    await ui.authorize(TOKEN);
    await ui.tryItOut();
    const id = await ui.exampleId();

    await ui.execute();
    expect(await ui.answer(200, '"Rose"')).toContain('"tag": "flower"');
    expect(await store.database.query('SELECT id, name, tag FROM plants')).toEqual([
      { id, name: 'Rose', tag: 'flower' },
    ]);

    await ui.execute();
    expect(await ui.answer(400, '40901')).toContain(`The id ${id} is taken`);
    expect(ui.complaints).toEqual([]);
  });

  // As its readers will see it: on the default port, and with a token that is no test's.
  if (SWAGGER_UI_PICTURE) {
    it('should be on the picture', async () => {
      await store.stop();
      store = await startStore({ PORT: '3000', ACCESS_TOKENS: EXAMPLE_TOKEN });
      const ui = await open(`/docs#token=${EXAMPLE_TOKEN}`);
      await ui.tryItOut();
      await ui.execute();
      await ui.answer(200, '"Rose"');
      await ui.picture(SWAGGER_UI_PICTURE);
    });
  }

  it('should have a new id at each load, one that JavaScript would round, and for each example', async () => {
    const ui = await open(LINK);
    const ids: string[] = [];
    for (const example of ['plant', 'plant', 'untagged']) {
      await ui.reload();
      await ui.tryItOut();
      await ui.page.locator('.examples-select-element').first().selectOption(example);
      ids.push(await ui.exampleId());
      await ui.execute();
      await ui.answer(200, '"name"');
    }
    const plants = await store.database.query<{ id: string }>('SELECT id FROM plants');
    expect(plants.map(({ id }) => id).sort()).toEqual([...ids].sort());
    expect(new Set(ids).size).toBe(3);
    for (const id of ids) expect(String(Number(id))).not.toBe(id);
    expect(ui.complaints).toEqual([]);
  });

  it('should show what the store says to a request without a credential', async () => {
    const ui = await open();
    await ui.tryItOut();
    await ui.execute();
    expect(await ui.answer(400, '40100')).toContain('The request carries no bearer credential.');
    expect(ui.complaints).toEqual([]);
  });

  it('should take the token of a link, keep it in this tab only, and send it to the operation only', async () => {
    const ui = await open();
    const sent: string[] = [];
    ui.page.on('request', (request) => {
      sent.push(JSON.stringify([request.method(), request.url(), request.postData(), request.headers()]));
    });
    // The page is open already: a browser does not load it anew.
    await ui.page.goto(`http://127.0.0.1:${store.port}${LINK}`);
    for (let load = 1; load <= 2; load++) {
      await ui.hint.waitFor({ state: 'detached' });
      expect(await ui.page.evaluate('location.href')).not.toContain('token');
      await ui.tryItOut();
      await ui.execute();
      await ui.answer(200, '"Rose"');
      await ui.reload();
    }
    expect(await ui.page.evaluate('[localStorage.length, document.cookie]')).toEqual([0, '']);
    expect(sent.filter((request) => request.includes(TOKEN))).toEqual([
      expect.stringMatching(/^\["POST","[^"]+\/plants"/),
      expect.stringMatching(/^\["POST","[^"]+\/plants"/),
    ]);
    const elsewhere = await SwaggerUiPage.open(browser, ui.page.url());
    expect(await elsewhere.hint.isVisible()).toBe(true);
    await elsewhere.page.close();
    expect(ui.complaints).toEqual([]);
  });

  it.each(['/docs?url=%', '/docs/?x/', '/docs?configUrl=%&a/b', '/docs/'])(
    'should take the token out of the address at %s',
    async (path) => {
      const ui = await open(`${path}#token=${TOKEN}`);
      expect(await ui.page.evaluate('location.href')).toMatch(/\/docs\/?$/);
      await ui.tryItOut();
      await ui.execute();
      await ui.answer(200, '"Rose"');
      expect(ui.complaints).toEqual([]);
    },
  );

  it('should not share its window with pages of others', async () => {
    const response = await fetch(`http://127.0.0.1:${store.port}/docs`);
    expect(response.headers.get('cross-origin-opener-policy')).toBe('same-origin');
  });

  it('should say how to get a token if it has none, and keep what is typed in until it is removed', async () => {
    const ui = await open();
    expect(await ui.hint.innerText()).toContain('plant-store token create NAME');
    await ui.authorize(TOKEN);
    await ui.hint.waitFor({ state: 'detached' });
    await ui.reload();
    expect(await ui.hint.count()).toBe(0);
    await ui.logOut();
    await ui.hint.waitFor();
    await ui.reload();
    expect(await ui.hint.isVisible()).toBe(true);
    expect(ui.complaints).toEqual([]);
  });

  it('should take the token of a link if the browser blocks its storage', async () => {
    const context = await browser.newContext();
    await context.addInitScript(
      "Object.defineProperty(window, 'sessionStorage', { get() { throw new Error('blocked'); } })",
    );
    ui = await SwaggerUiPage.open(context, `http://127.0.0.1:${store.port}${LINK}`);
    expect(await ui.page.evaluate('location.href')).toMatch(/\/docs$/);
    await ui.tryItOut();
    await ui.execute();
    await ui.answer(200, '"Rose"');
    expect(ui.complaints).toEqual([]);
    await context.close();
  });

  it('should have the operation above the fold, and the numbers of errors folded', async () => {
    const ui = await open();
    const button = await ui.page.getByRole('button', { name: 'Try it out' }).boundingBox();
    expect((button?.y ?? Infinity) + (button?.height ?? 0)).toBeLessThan(800);
    const row = ui.page.locator('.info tr', { hasText: '40901' });
    expect(await row.isVisible()).toBe(false);
    await ui.page.locator('.info summary').click();
    expect(await row.innerText()).toMatch(/^40901\s+id taken\s+no/);
  });

  it('should link to a page of all errors', async () => {
    const ui = await open();
    const opened = ui.page.waitForEvent('popup');
    await ui.page.getByRole('link', { name: 'What each error number means' }).click();
    const page = await opened;
    await page.waitForLoadState();
    expect(new URL(page.url()).pathname).toBe('/docs/errors');
    const numbers = await page.locator('tr > td:first-child').allInnerTexts();
    expect(numbers).toEqual(Object.keys(ERROR_CATALOGUE));
    expect(await page.locator('tr[id="40901"]').innerText()).toMatch(/^40901\s+id taken\s+no/);
    await page.getByRole('link').click();
    await page.getByRole('button', { name: 'Try it out' }).waitFor();
    await page.close();
    expect(ui.complaints).toEqual([]);
  });

  it('should fit the width of a phone', async () => {
    const ui = await open(LINK, { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true });
    const width = (): Promise<unknown> => ui.page.evaluate('[innerWidth, document.documentElement.scrollWidth]');
    expect(await width()).toEqual([390, 390]);
    await ui.page.locator('.info summary').click();
    expect(await width()).toEqual([390, 390]);
    await ui.tryItOut();
    await ui.execute();
    await ui.answer(200, '"Rose"');
    expect(await width()).toEqual([390, 390]);
    await ui.page.goto(`http://127.0.0.1:${store.port}/docs/errors`);
    expect(await width()).toEqual([390, 390]);
    expect(ui.complaints).toEqual([]);
  });

  it.each(['/docs/', '/docs?url=https://elsewhere.example/a.json&configUrl=https://elsewhere.example/b.json'])(
    'should show the document of the store, and load nothing from elsewhere, at %s',
    async (path) => {
      const ui = await open(path);
      await ui.page.locator('.info summary').click();
      expect(await ui.page.locator('.info').innerText()).toMatch(/^Plant Store.*40901\s+id taken/s);
      expect(await ui.page.locator('.opblock').allInnerTexts()).toEqual([expect.stringMatching(/^POST\s+\/plants\s/)]);
      expect(ui.complaints).toEqual([]);
    },
  );

  it('should send to where the plants are when they have a base path', async () => {
    await store.stop();
    store = await startStore({ BASE_PATH: '/api/v1' });
    const ui = await open(LINK);
    await ui.tryItOut();
    await ui.execute();
    await ui.answer(200, '"Rose"');
    expect(await ui.page.locator('.request-url').innerText()).toContain(`:${store.port}/api/v1/plants`);
    expect(await ui.page.locator('.info__extdocs').getAttribute('href')).toMatch(/:\d+\/docs\/errors$/);
    expect(ui.complaints).toEqual([]);
  });
});
