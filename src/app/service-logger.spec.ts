import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { stripVTControlCharacters } from 'node:util';
import { ServiceLogger } from './service-logger.js';

describe(ServiceLogger.name, () => {
  let printed: string[];
  let logger: ServiceLogger;

  beforeEach(() => {
    jest.useFakeTimers();
    printed = [];
    for (const stream of [process.stdout, process.stderr]) {
      jest
        .spyOn(stream, 'write')
        .mockImplementation((text) => printed.push(stripVTControlCharacters(String(text)).trimEnd()) > 0);
    }
    logger = new ServiceLogger({ logLevel: 'log', logFormat: 'pretty' });
  });
  afterEach(() => {
    jest.restoreAllMocks();
    jest.useRealTimers();
  });

  const times = (count: number, log: (index: number) => void): void => {
    for (let index = 0; index < count; index++) log(index);
  };

  it('should print ten lines of a kind, and when the second is over the last one, with the number of the others', () => {
    times(30, (index) => {
      logger.warn(`The plant "${'x'.repeat(index)}" has ${index} leaves`, { id: index }, 'Garden');
    });
    expect(printed).toHaveLength(10);

    jest.advanceTimersByTime(1000);
    expect(printed).toHaveLength(11);
    expect(printed.at(-1)).toMatch(/has 29 leaves \{ id: 29, suppressed: 19 \}/);

    jest.advanceTimersByTime(5000);
    expect(printed).toHaveLength(11);
  });

  it('should count that line for the next second', () => {
    times(12, () => {
      logger.log('Rain', 'Garden');
    });
    jest.advanceTimersByTime(1000);
    times(20, () => {
      logger.log('Rain', 'Garden');
    });
    expect(printed).toHaveLength(20);
  });

  it('should tell kinds apart by level, context, message and the first line of the stack', () => {
    times(10, () => {
      logger.log('Rain', 'Garden');
      logger.warn('Rain', 'Garden');
      logger.log('Rain', 'Field');
      logger.log('Snow', 'Garden');
    });
    expect(printed).toHaveLength(40);

    times(11, () => {
      for (const cause of ['no water', 'no light']) {
        logger.error('Withered', `Error: ${cause}\n    at garden.ts:1:2`, 'Garden');
      }
    });
    // Each line is followed by its stack.
    expect(printed).toHaveLength(40 + 2 * 2 * 10);
  });

  it('should print a hundred of the number 50000', () => {
    times(200, () => {
      logger.error('Withered', { error: 50000 }, 'Garden');
    });
    expect(printed).toHaveLength(100);
  });

  it('should take for one what is beyond a hundred kinds', () => {
    times(150, (index) => {
      logger.log('x'.repeat(index + 1), 'Garden');
    });
    expect(printed).toHaveLength(100 + 10);
  });

  it('should print the number when the process exits before the second is over', () => {
    times(15, () => {
      logger.log('Rain', 'Garden');
    });
    process.emit('exit', 0);
    expect(printed.at(-1)).toMatch(/Rain \{ suppressed: 4 \}/);
  });
});
