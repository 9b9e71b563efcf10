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
    Logger.overrideLogger(new ServiceLogger({ LOG_LEVEL: 'trace', LOG_REQUESTS: 'all' }));
  });
  afterEach(() => {
    Logger.overrideLogger(true);
    jest.restoreAllMocks();
    jest.useRealTimers();
  });

  const garden = new Logger('Garden');
  const lines = (): Record<string, unknown>[] => {
    const texts = written.split('\n').slice(0, -1);
    return texts.map((line) => JSON.parse(line) as Record<string, unknown>);
  };

  it('should print flat lines of JSON on one stream, with the names of LOG_LEVEL', () => {
    garden.fatal('Fire');
    garden.error('Withered', { error: 50300 }, 'Error: no water\n    at garden.ts:1:2');
    garden.warn('Dry');
    new Logger().log('Rain');
    garden.debug('Wind');
    garden.verbose('Sun', { hours: 3, id: 1n });
    const time = new Date().toISOString();
    const stack = expect.stringContaining('no water');
    expect(lines()).toEqual([
      { time, level: 'fatal', context: 'Garden', message: 'Fire' },
      { time, level: 'error', context: 'Garden', message: 'Withered', error: 50300, stack },
      { time, level: 'warn', context: 'Garden', message: 'Dry' },
      { time, level: 'info', context: 'PlantStore', message: 'Rain' },
      { time, level: 'debug', context: 'Garden', message: 'Wind' },
      { time, level: 'trace', context: 'Garden', message: 'Sun', hours: 3, id: '1' },
    ]);
  });

  it.each([
    ['all', 30],
    ['failures', 10],
  ] as const)('should print ten lines of a kind in a second, and of %s requests %d', (LOG_REQUESTS, requests) => {
    Logger.overrideLogger(new ServiceLogger({ LOG_LEVEL: 'trace', LOG_REQUESTS }));
    for (let index = 0; index < 30; index++) {
      garden.warn(`The plant "${'x'.repeat(index)}" has ${index} leaves`);
      garden.log('Rain');
      garden.warn('Rain');
      new Logger('Field').log('Rain');
      garden.log('Refused', { error: 40101 });
      garden.log('Refused', { error: 40102 });
      new Logger('Request').log('Answered', { error: 0 });
    }
    jest.advanceTimersByTime(1000);
    garden.warn('Rain');
    expect(lines()).toHaveLength(6 * 10 + requests + 1);
    // The next line tells how many were left out before it.
    expect(lines().reduce((sum, { suppressed = 0 }) => sum + Number(suppressed), 0)).toBe(6 * 20 + 30 - requests);
  });

  it('should keep no more than 4 MiB waiting for its reader', () => {
    const { stdout } = process;
    for (const [value, message] of [
      [4_194_305, 'Rain'],
      [4_194_304, 'Snow'],
    ] as const) {
      Object.defineProperty(stdout, 'writableLength', { value, configurable: true });
      garden.log(message);
    }
    Reflect.deleteProperty(stdout, 'writableLength');
    expect(lines()).toEqual([expect.objectContaining({ message: 'Snow', suppressed: 1 })]);
  });
});
