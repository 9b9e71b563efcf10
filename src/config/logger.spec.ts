import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { ServiceLogger } from './logger.js';

describe(ServiceLogger.name, () => {
  let written: string;

  beforeEach(() => {
    jest.useFakeTimers();
    written = '';
    jest.spyOn(process.stdout, 'write').mockImplementation((text) => {
      written += String(text);
      return true;
    });
    Logger.overrideLogger(new ServiceLogger({ LOG_LEVEL: 'info', LOG_REQUESTS: 'all' }));
  });
  afterEach(() => {
    Logger.overrideLogger(true);
    jest.restoreAllMocks();
    jest.useRealTimers();
  });

  const garden = new Logger('Garden');
  const lines = (): Record<string, unknown>[] =>
    written.split(/\n(?!$)/).map((line) => JSON.parse(line) as Record<string, unknown>);

  it.each([
    ['all', 30],
    ['failures', 10],
  ] as const)('should print ten lines of a kind in a second, and of %s requests %d', (LOG_REQUESTS, requests) => {
    Logger.overrideLogger(new ServiceLogger({ LOG_LEVEL: 'info', LOG_REQUESTS }));
    for (let index = 0; index < 30; index++) {
      garden.warn(`The plant "${'x'.repeat(index)}" has ${index} leaves`);
      garden.log('Rain');
      new Logger('Field').log('Rain');
      garden.log('Refused', { error: 40101 });
      garden.log('Refused', { error: 40102 });
      new Logger('Request').log('Answered', { error: 0 });
    }
    jest.advanceTimersByTime(1000);
    garden.warn('Rain');
    expect(lines()).toHaveLength(5 * 10 + requests + 1);
    // The next line tells how many were omitted before it.
    expect(lines().reduce((sum, { suppressed = 0 }) => sum + Number(suppressed), 0)).toBe(5 * 20 + 30 - requests);
  });

  it('should print the levels down to LOG_LEVEL, under the names that it has for them', () => {
    Logger.overrideLogger(new ServiceLogger({ LOG_LEVEL: 'debug', LOG_REQUESTS: 'all' }));
    for (const level of ['fatal', 'error', 'warn', 'log', 'debug', 'verbose'] as const) garden[level]('Rain');
    expect(lines().map(({ level }) => level)).toEqual(['fatal', 'error', 'warn', 'info', 'debug']);
  });

  it('should keep no more than 4 MiB waiting for its reader', () => {
    const { stdout } = process;
    for (const value of [4_194_305, 4_194_304]) {
      Object.defineProperty(stdout, 'writableLength', { value, configurable: true });
      garden.log(`Rain on ${value} leaves`);
    }
    Reflect.deleteProperty(stdout, 'writableLength');
    expect(lines()).toEqual([expect.objectContaining({ message: 'Rain on 4194304 leaves', suppressed: 1 })]);
  });
});
