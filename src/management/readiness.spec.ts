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
});
