import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';
import { describeWith } from '../jest/describe-with.js';

const USUAL_PLACES = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/usr/bin/google-chrome-stable',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
];
const MISSING =
  'there is no Chromium or Chrome in the usual places. ' +
  'Install one (on Debian: apt-get install chromium), or name its executable in CHROMIUM_PATH.';
const ARGUMENTS = [
  '--no-sandbox', // It cannot be had as root.
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** A suite that needs a browser. */
export function describeInBrowser(name: string, suite: () => void): void {
  describeWith(executable() === undefined ? MISSING : undefined, name, suite);
}

/** A headless browser that leaves nothing behind once it is closed. */
export async function openBrowser(): Promise<Browser> {
  const executablePath = executable();
  if (executablePath === undefined) throw new Error(MISSING);
  const home = await mkdtemp(join(tmpdir(), 'plant-store-browser-'));
  const env = { ...process.env, HOME: home, TMPDIR: home, XDG_CONFIG_HOME: home, XDG_CACHE_HOME: home };
  const removeHome = (): Promise<void> => rm(home, { recursive: true, force: true, maxRetries: 5 });
  try {
    const browser = await chromium.launch({ executablePath, args: ARGUMENTS, env });
    const close = browser.close.bind(browser);
    return Object.assign(browser, { close: () => close().finally(removeHome) });
  } catch (error) {
    await removeHome();
    throw error;
  }
}

function executable(): string | undefined {
  const { CHROMIUM_PATH } = process.env;
  if (!CHROMIUM_PATH) return USUAL_PLACES.find((path) => existsSync(path));
  if (!existsSync(CHROMIUM_PATH)) throw new Error(`CHROMIUM_PATH is ${CHROMIUM_PATH}, where there is no file.`);
  return CHROMIUM_PATH;
}
