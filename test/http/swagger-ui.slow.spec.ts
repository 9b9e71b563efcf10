import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { describeInBrowser, openBrowser } from '../support/documents/browser.js';
import { SwaggerUiPage } from '../support/documents/swagger-ui-page.js';
import { startStore, type Store, TOKEN } from '../support/service/store.js';

/** Where to write the picture of the page that the README shows. */
const { SWAGGER_UI_PICTURE } = process.env;
/** That of SECURITY.md. */
const EXAMPLE_TOKEN = 'plant_EXAMPLEexampleEXAMPLEexample00002T8eec';

const LINK = `/docs#token=${TOKEN}`;

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

  it('should have an id that is free at each load', async () => {
    for (let load = 1; load <= 2; load++) {
      const ui = await open(LINK);
      await ui.tryItOut();
      await ui.execute();
      await ui.answer(200, '"Rose"');
      await ui.page.close();
    }
  });

  it('should show what the store says to a request without a credential', async () => {
    const ui = await open();
    await ui.tryItOut();
    await ui.execute();
    expect(await ui.answer(400, '40100')).toContain('The request carries no bearer credential.');
    expect(ui.complaints).toEqual([]);
  });

  it.each([LINK, '/docs/', '/docs?url=%', '/docs/?x/', '/docs?configUrl=https://elsewhere.example/b.json'])(
    'should take the token of a link out of the address, keep it nowhere, and send it to the operation only, at %s',
    async (path) => {
      const ui = await open();
      const sent: string[] = [];
      ui.page.on('request', (request) => {
        sent.push(JSON.stringify([request.method(), request.url(), request.postData(), request.headers()]));
      });
      const url = `http://127.0.0.1:${store.port}${path.replace(/(#.*)?$/, `#token=${TOKEN}`)}`;
      // A browser does not load a page anew of which only the fragment differs.
      await ui.page.goto('about:blank');
      await ui.page.goto(url);
      await ui.tryItOut();
      await ui.execute();
      await ui.answer(200, '"Rose"');
      expect(await ui.page.evaluate('location.href')).toMatch(/\/docs\/?$/);
      expect(await ui.page.evaluate('[localStorage.length, sessionStorage.length, document.cookie]')).toEqual([
        0,
        0,
        '',
      ]);
      expect(sent.filter((request) => request.includes(TOKEN))).toEqual([
        expect.stringMatching(/^\["POST","[^"]+\/plants"/),
      ]);
      expect(ui.complaints).toEqual([]);
    },
  );

  it('should have the operation above the fold, and the numbers of errors folded', async () => {
    const ui = await open();
    const button = await ui.page.getByRole('button', { name: 'Try it out' }).boundingBox();
    expect((button?.y ?? Infinity) + (button?.height ?? 0)).toBeLessThan(800);
    const row = ui.page.locator('.info tr', { hasText: '40901' });
    expect(await row.isVisible()).toBe(false);
    await ui.page.locator('.info summary').click();
    expect(await row.innerText()).toMatch(/^40901\s+id taken\s+no/);
  });

  it('should send to where the plants are when they have a base path', async () => {
    await store.stop();
    store = await startStore({ BASE_PATH: '/api/v1' });
    const ui = await open(LINK);
    await ui.tryItOut();
    await ui.execute();
    await ui.answer(200, '"Rose"');
    expect(await ui.page.locator('.request-url').innerText()).toContain(`:${store.port}/api/v1/plants`);
    expect(ui.complaints).toEqual([]);
  });
});
