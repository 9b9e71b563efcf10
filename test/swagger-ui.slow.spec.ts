import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { describeInBrowser, openBrowser } from './support/browser.js';
import { startStore, type Store, TOKEN } from './support/store.js';
import { SwaggerUiPage } from './support/swagger-ui-page.js';

/** Where to write the picture of the page that the README shows. */
const { SWAGGER_UI_PICTURE } = process.env;

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

  const open = async (path = '/docs'): Promise<SwaggerUiPage> => {
    ui = await SwaggerUiPage.open(browser, `http://127.0.0.1:${store.port}${path}`);
    return ui;
  };

  it('should create the plant of the example, and the second time say that its id is taken', async () => {
    const ui = await open();
    await ui.authorize(TOKEN);
    await ui.tryItOut();

    await ui.execute();
    expect(await ui.answer(200, '"Rose"')).toContain('"tag": "flower"');
    expect(await store.database.query('SELECT id, name, tag FROM plants')).toEqual([
      { id: '1', name: 'Rose', tag: 'flower' },
    ]);
    if (SWAGGER_UI_PICTURE) await ui.picture(SWAGGER_UI_PICTURE);

    await ui.execute();
    expect(await ui.answer(400, '40901')).toContain('The id 1 is taken');
    expect(ui.complaints).toEqual([]);
  });

  it('should show what the store says to a request without a credential', async () => {
    const ui = await open();
    await ui.tryItOut();
    await ui.execute();
    expect(await ui.answer(400, '40100')).toContain('The request carries no bearer credential.');
    expect(ui.complaints).toEqual([]);
  });

  it.each(['/docs/', '/docs?url=https://elsewhere.example/a.json&configUrl=https://elsewhere.example/b.json'])(
    'should show the document of the store, and load nothing from elsewhere, at %s',
    async (path) => {
      const ui = await open(path);
      expect(await ui.page.locator('.info').innerText()).toMatch(/^Plant Store.*40901\s+id taken/s);
      expect(await ui.page.locator('.opblock').allInnerTexts()).toEqual([expect.stringMatching(/^POST\s+\/plants\s/)]);
      expect(ui.complaints).toEqual([]);
    },
  );

  it('should send to where the plants are when they have a base path', async () => {
    await store.stop();
    store = await startStore({ BASE_PATH: '/api/v1' });
    const ui = await open();
    await ui.authorize(TOKEN);
    await ui.tryItOut();
    await ui.execute();
    await ui.answer(200, '"Rose"');
    expect(await ui.page.locator('.request-url').innerText()).toContain(`:${store.port}/api/v1/plants`);
    expect(ui.complaints).toEqual([]);
  });
});
