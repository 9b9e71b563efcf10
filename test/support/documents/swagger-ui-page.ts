import type { Browser, BrowserContext, BrowserContextOptions, ConsoleMessage, Locator, Page } from 'playwright-core';

/** Swagger UI as its reader handles it. */
export class SwaggerUiPage {
  /** What a page should not do: errors in its console, and requests to anybody but the store. */
  readonly complaints: string[] = [];

  private constructor(readonly page: Page) {}

  static async open(
    browser: Browser | BrowserContext,
    url: string,
    options: BrowserContextOptions = {},
  ): Promise<SwaggerUiPage> {
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, ...options });
    page.setDefaultTimeout(20_000);
    const ui = new SwaggerUiPage(page);
    const { origin } = new URL(url);
    page.on('request', (request) => {
      const target = new URL(request.url());
      if (target.protocol !== 'data:' && target.origin !== origin) ui.complaints.push(`request to ${target.href}`);
    });
    page.on('pageerror', (error) => ui.complaints.push(`exception: ${error.message}`));
    page.on('console', (message) => {
      if (isComplaint(message)) ui.complaints.push(`console: ${message.text()}`);
    });
    await page.goto(url);
    await ui.isShown();
    return ui;
  }

  async reload(): Promise<void> {
    await this.page.reload();
    await this.isShown();
  }

  private async isShown(): Promise<void> {
    await this.page.getByRole('button', { name: 'Try it out' }).waitFor();
  }

  async authorize(token: string): Promise<void> {
    await this.page.getByRole('button', { name: 'Authorize' }).click();
    const dialog = this.page.locator('.modal-ux');
    await dialog.getByLabel('auth-bearer-value').fill(token);
    await dialog.getByRole('button', { name: 'Apply credentials' }).click();
    await dialog.getByRole('button', { name: 'Close' }).click();
  }

  /** Forgets the token, as its user does. */
  async logOut(): Promise<void> {
    await this.page.getByRole('button', { name: 'Authorize' }).click();
    const dialog = this.page.locator('.modal-ux');
    await dialog.getByRole('button', { name: 'Remove authorization' }).click();
    await dialog.getByRole('button', { name: 'Close' }).click();
  }

  /** What the page says if it has no token. */
  get hint(): Locator {
    return this.page.getByText('No access token yet?');
  }

  /** The id in the text field of the request. */
  async exampleId(): Promise<string> {
    const text = await this.page.locator('textarea.body-param__text').inputValue();
    return /"id": (\d+)/.exec(text)?.[1] ?? text;
  }

  async tryItOut(): Promise<void> {
    await this.page.getByRole('button', { name: 'Try it out' }).click();
  }

  async execute(): Promise<void> {
    await this.page.getByRole('button', { name: 'Execute' }).click();
  }

  /** Waits until the page shows an answer with this status and this text, and gives all that it shows of it. */
  async answer(status: number, text: string): Promise<string> {
    const answer = this.page
      .locator('.live-responses-table tr.response')
      .filter({ has: this.page.locator('.response-col_status', { hasText: String(status) }) })
      .filter({ hasText: text });
    return await answer.innerText();
  }

  /** A picture of the operation, down to the answer that it shows. */
  async picture(path: string): Promise<void> {
    // Boxes are measured from where the window is scrolled to, the clip from the top of the page.
    await this.page.evaluate('scrollTo(0, 0)');
    const top = await this.page.locator('.scheme-container').boundingBox();
    const end = await this.page.locator('.live-responses-table').boundingBox();
    if (!top || !end) throw new Error('The page shows no answer that a picture could be taken of.');
    const { x, y, width } = top;
    await this.page.screenshot({ path, fullPage: true, clip: { x, y, width, height: end.y + end.height - y } });
  }
}

/** A browser also reports every answer of status 400 as an error; here it is one that was asked for. */
function isComplaint(message: ConsoleMessage): boolean {
  const asked = message.text().startsWith('Failed to load resource') && message.location().url.endsWith('/plants');
  return ['error', 'warning'].includes(message.type()) && !asked;
}
