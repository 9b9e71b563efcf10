import { spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';
import { describeWith } from '../jest/describe-with.js';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const FOUND = spawnSync('which', NAMES, { encoding: 'utf8' }).stdout.split('\n')[0];
const executablePath = process.env.CHROMIUM_PATH ?? FOUND;

/** A suite that needs a browser. */
export function describeInBrowser(name: string, suite: () => void): void {
  const missing = `none of ${NAMES.join()} is installed, and CHROMIUM_PATH names no other browser.`;
  describeWith(executablePath ? undefined : missing, name, suite);
}

/** A headless browser that leaves nothing behind once it is closed. */
export async function openBrowser(): Promise<Browser> {
  const home = await mkdtemp(join(tmpdir(), 'plant-store-browser-'));
  const env = { ...process.env, HOME: home, TMPDIR: home, XDG_CONFIG_HOME: home, XDG_CACHE_HOME: home };
  // Root has no sandbox.
  const args = ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update'];
  const browser = await chromium.launch({ executablePath: String(executablePath), args, env });
  const close = browser.close.bind(browser);
  return Object.assign(browser, {
    close: () => close().finally(() => rm(home, { recursive: true, force: true, maxRetries: 5 })),
  });
}
