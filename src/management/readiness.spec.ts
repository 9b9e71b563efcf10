import { describe, expect, it } from '@jest/globals';
import { HttpAdapterHost } from '@nestjs/core';
import { firstValueFrom, Subject } from 'rxjs';
import { Readiness } from './readiness.js';

class ToldCheck {
  calls = 0;
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

function setUp({ checkTimeout = 30_000, listening = true } = {}) {
  const check = new ToldCheck();
  const host = new HttpAdapterHost();
  host.listening = listening;
  const readiness = Object.assign(new Readiness(check, host), { checkTimeout });
  return { check, host, readiness };
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

  it('should share a check among those who ask while it runs, and not cache it', async () => {
    const { readiness, check } = setUp();
    const held = check.hold();

    const obstacles = [readiness.findObstacle(), readiness.findObstacle(), readiness.findObstacle()];
    expect(check.calls).toBe(1);
    held.error(new Error('down'));

    await expect(Promise.all(obstacles)).resolves.toEqual(['down', 'down', 'down']);
    await readiness.findObstacle();
    expect(check.calls).toBe(2);
  });

  it('should not wait longer than the timeout, nor start another check meanwhile', async () => {
    const { readiness, check } = setUp({ checkTimeout: 1 });
    const held = check.hold();

    await expect(readiness.findObstacle()).resolves.toBe('the check did not end within 1 ms');
    await expect(readiness.findObstacle()).resolves.toBe('the check did not end within 1 ms');
    expect(check.calls).toBe(1);

    held.next(undefined);
    await expect(readiness.findObstacle()).resolves.toBeUndefined();
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
});
