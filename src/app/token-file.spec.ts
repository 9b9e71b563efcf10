import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { StaticTokenVerifier } from '../auth/static-tokens.js';
import { readEnvironment } from './config.js';
import { TokenFile } from './token-file.js';

const [OLD, NEW, OTHER] = ['an-old-token-0123456789', 'a-new-token-01234567890', 'another-token-0123456789'] as const;

describe(TokenFile.name, () => {
  let folder: string;
  let path: string;
  let log: string[];

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'plant-store-token-file-'));
    path = join(folder, 'access-tokens');
    log = [];
    for (const level of ['log', 'error'] as const)
      jest.spyOn(Logger.prototype, level).mockImplementation((line) => log.push(`${level} ${String(line)}`));
  });
  afterEach(() => {
    jest.useRealTimers();
    jest.restoreAllMocks();
    rmSync(folder, { recursive: true });
  });

  const prepare = () => {
    writeFileSync(path, OLD);
    const options = readEnvironment({ ACCESS_TOKENS_FILE: path });
    const verifier = new StaticTokenVerifier(options.accessTokens);
    return { file: new TokenFile(options, verifier), options, verifier, masked: () => options.accessTokens };
  };

  it('should replace the tokens when two readings agree, and have old ones masked too', async () => {
    const { file, verifier, masked } = prepare();
    await file.check(path);
    await file.check(path);
    expect(log).toEqual([]);
    const before = verifier.verify(OLD);
    writeFileSync(path, `${NEW} ${OLD}`);
    await file.check(path);
    expect(verifier.verify(NEW)).toBeUndefined();
    await file.check(path);
    expect(verifier.verify(NEW)).toMatchObject({ name: 'static' });
    // Each token keeps its limit, wherever it is in the file.
    expect(verifier.verify(OLD)).toBe(before);
    writeFileSync(path, OTHER);
    for (let reading = 0; reading < 4; reading++) await file.check(path);
    expect([OLD, NEW].map((token) => verifier.verify(token))).toEqual([undefined, undefined]);
    expect(verifier.verify(OTHER)).toMatchObject({ name: 'static' });
    expect(masked().toSorted()).toEqual([OLD, NEW, OTHER].toSorted());
    expect(log).toEqual([
      'log ACCESS_TOKENS_FILE has changed. Valid static tokens: 2',
      'log ACCESS_TOKENS_FILE has changed. Valid static tokens: 1',
    ]);
  });

  it('should not take a file that is being written', async () => {
    const { file, verifier } = prepare();
    for (const text of ['', NEW.slice(0, 21), `${NEW} ${OTHER.slice(0, 4)}`, `${NEW} ${OTHER}`]) {
      writeFileSync(path, text);
      await file.check(path);
      expect(verifier.verify(OLD)).toBeDefined();
    }
    await file.check(path);
    expect(verifier.verify(OTHER)).toBeDefined();
    expect(log).toHaveLength(1);
  });

  it('should log a fault once, and that it has ended', async () => {
    const { file, verifier } = prepare();
    writeFileSync(path, `${NEW},too-short`);
    for (let reading = 0; reading < 5; reading++) await file.check(path);
    writeFileSync(path, OLD);
    for (let reading = 0; reading < 5; reading++) await file.check(path);
    expect([verifier.verify(OLD) !== undefined, verifier.verify(NEW)]).toEqual([true, undefined]);
    expect(log).toEqual([
      `error ACCESS_TOKENS_FILE: "${path}": token 2 of 2 is too short, should have at least 20 characters. The tokens stay as they were`,
      'log ACCESS_TOKENS_FILE has changed. Valid static tokens: 1',
    ]);
  });

  it('should stop with the application, and leave a pipe alone, as nothing writes to it again', () => {
    jest.useFakeTimers();
    const { file } = prepare();
    file.onModuleInit();
    expect(jest.getTimerCount()).toBe(1);
    file.onApplicationShutdown();
    expect(jest.getTimerCount()).toBe(0);
    const { options, verifier } = prepare();
    rmSync(path);
    execFileSync('mkfifo', [path]);
    new TokenFile(options, verifier).onModuleInit();
    expect(jest.getTimerCount()).toBe(0);
  });
});
