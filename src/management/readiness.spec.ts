import { describe, expect, it } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { firstValueFrom, Subject } from 'rxjs';
import { Readiness } from './readiness.js';

class ToldCheck {
  calls = 0;
  degradation: string | undefined;
  end: () => Promise<void> = () => Promise.resolve();

  check(): Promise<void> {
    this.calls += 1;
    return this.end();
  }

  hold(): Subject<undefined> {
    const held = new Subject<undefined>();
    this.end = () => firstValueFrom(held);
    return held;
  }
}

function setUp({ listening = true } = {}) {
  const check = new ToldCheck();
  const host = new HttpAdapterHost();
  host.listening = listening;
  return { check, host, readiness: new Readiness(check, host) };
}

describe(Readiness.name, () => {
  it('should find no obstacle when the check passes', async () => {
    const { readiness } = setUp();

    await expect(readiness.findObstacle()).resolves.toBeUndefined();
  });

  it('should give the reason of a check that fails, and forget it', async () => {
    const { readiness, check } = setUp();

    check.end = () => Promise.reject(new Error('the database does not answer'));
    await expect(readiness.findObstacle()).resolves.toBe('the database does not answer');

    check.end = () => Promise.resolve();
    await expect(readiness.findObstacle()).resolves.toBeUndefined();
  });

  it('should give the reason of a check that throws', async () => {
    const { readiness, check } = setUp();
    check.end = () => {
      throw new Error('no pool');
    };

    await expect(readiness.findObstacle()).resolves.toBe('no pool');
  });

  it('should not be ready, and check nothing, before the public listener is open', async () => {
    const { readiness, check, host } = setUp({ listening: false });

    await expect(readiness.findObstacle()).resolves.toBe('the service is starting');
    expect(check.calls).toBe(0);

    host.listening = true;
    await expect(readiness.findObstacle()).resolves.toBeUndefined();
  });

  it('should not be ready once the shutdown has begun, even when it began during a check', async () => {
    const { readiness, check } = setUp();
    const held = check.hold();

    const obstacle = readiness.findObstacle();
    readiness.onModuleDestroy();
    held.next(undefined);

    await expect(obstacle).resolves.toBe('the service is shutting down');
    await expect(readiness.findObstacle()).resolves.toBe('the service is shutting down');
    expect(check.calls).toBe(1);
  });

  it('should log each reason once until the store works again, with what the server said, and no start or stop', async () => {
    const lines: string[] = [];
    const lineOf = (level: string) => (message: unknown) => lines.push(`${level}: ${String(message)}`);
    Logger.overrideLogger({ log: lineOf('log'), warn: lineOf('warn'), error: lineOf('error') });
    try {
      const { readiness, check, host } = setUp({ listening: false });
      await readiness.findObstacle();
      host.listening = true;
      await readiness.findObstacle();
      expect(lines).toEqual([]);

      const cause = { kind: 'postgres', originalMessage: 'password authentication failed\nfor user "plants"' };
      const refused = new Error('the password is refused', { cause: new Error('no connection', { cause }) });
      const locked = new Error('the table plants is locked');
      for (const failure of [locked, refused, locked, refused]) {
        check.end = () => Promise.reject(failure);
        await Promise.all([readiness.findObstacle(), readiness.findObstacle()]);
      }
      expect(lines.splice(0)).toEqual([
        'warn: The service is not ready: the table plants is locked',
        'warn: The service is not ready: the password is refused: password authentication failed for user "plants"',
      ]);

      check.end = () => Promise.resolve();
      await Promise.all([readiness.findObstacle(), readiness.findObstacle()]);
      expect(lines.splice(0)).toEqual(['log: The service is ready again']);

      const asked = readiness.findObstacle();
      readiness.onModuleDestroy();
      check.end = () => Promise.reject(new Error('the pool has ended'));
      await asked;
      await readiness.findObstacle();
      expect(lines).toEqual([]);
    } finally {
      Logger.overrideLogger(true);
    }
  });
});
