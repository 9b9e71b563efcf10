import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { stripVTControlCharacters } from 'node:util';
import { logWriter } from '../util/log-writer.js';
import { ServiceLogger } from './service-logger.js';

describe(ServiceLogger.name, () => {
  let written: string;
  let writes: number;
  let logger: ServiceLogger;

  beforeEach(() => {
    jest.useFakeTimers();
    written = '';
    writes = 0;
    jest.spyOn(process.stdout, 'write').mockImplementation((text) => {
      writes += 1;
      written += stripVTControlCharacters(String(text));
      return true;
    });
    logger = new ServiceLogger({ logLevel: 'log' }, true);
  });
  afterEach(() => {
    logWriter.flush();
    jest.restoreAllMocks();
    jest.useRealTimers();
  });

  /** The lines so far, each with its stack. */
  const printed = (): string[] => {
    logWriter.flush();
    return written
      .trimEnd()
      .split(/\n(?=\d{4}-|\{)/)
      .filter(Boolean);
  };
  const entries = (): unknown[] => printed().map((line) => JSON.parse(line) as unknown);

  const times = (count: number, log: (index: number) => void): void => {
    for (let index = 0; index < count; index++) log(index);
  };

  it('should print ten lines of a kind, and when the second is over the last one, with the number of the others', () => {
    times(30, (index) => {
      logger.warn(`The plant "${'x'.repeat(index)}" has ${index} leaves`, { id: index }, 'Garden');
    });
    expect(printed()).toHaveLength(10);

    jest.advanceTimersByTime(1000);
    expect(printed()).toHaveLength(11);
    expect(printed().at(-1)).toMatch(/has 29 leaves \{ id: 29, suppressed: 19 \}/);

    jest.advanceTimersByTime(5000);
    expect(printed()).toHaveLength(11);
  });

  it('should count that line for the next second', () => {
    times(12, () => {
      logger.log('Rain', 'Garden');
    });
    jest.advanceTimersByTime(1000);
    times(20, () => {
      logger.log('Rain', 'Garden');
    });
    expect(printed()).toHaveLength(20);
  });

  it('should tell kinds apart by level, context, message and the first line of the stack', () => {
    times(10, () => {
      logger.log('Rain', 'Garden');
      logger.warn('Rain', 'Garden');
      logger.log('Rain', 'Field');
      logger.log('Snow', 'Garden');
    });
    expect(printed()).toHaveLength(40);

    times(11, () => {
      for (const cause of ['no water', 'no light']) {
        logger.error('Withered', `Error: ${cause}\n    at garden.ts:1:2`, 'Garden');
      }
    });
    expect(printed()).toHaveLength(40 + 2 * 10);
    expect(printed().at(-1)).toMatch(/^\S+Z error \[Garden\] Withered\nError: no light\n {4}at garden.ts:1:2$/);
  });

  it('should print a hundred of the number 50000', () => {
    times(200, () => {
      logger.error('Withered', { error: 50000 }, 'Garden');
    });
    expect(printed()).toHaveLength(100);
  });

  it('should take for one what is beyond a hundred kinds', () => {
    times(150, (index) => {
      logger.log('x'.repeat(index + 1), 'Garden');
    });
    expect(printed()).toHaveLength(100 + 10);
  });

  it('should write the lines of one turn together', () => {
    times(5, () => {
      logger.log('Rain', 'Garden');
    });
    expect(writes).toBe(0);
    jest.advanceTimersByTime(0);
    expect(writes).toBe(1);
    expect(printed()).toHaveLength(5);
  });

  it('should print the number when the process exits before the second is over', () => {
    times(15, () => {
      logger.log('Rain', 'Garden');
    });
    process.emit('exit', 0);
    expect(printed().at(-1)).toMatch(/Rain \{ suppressed: 4 \}/);
  });

  it('should tell kinds apart by the error number', () => {
    times(30, (index) => {
      logger.log('Refused', { error: index % 2 === 0 ? 40101 : 40102 }, 'Garden');
    });
    expect(printed()).toHaveLength(2 * 10);
  });

  describe('in JSON', () => {
    beforeEach(() => {
      logger = new ServiceLogger({ logLevel: 'verbose' });
    });

    it('should name time, level, context and message of each line as LOG_LEVEL does', () => {
      logger.fatal('Fire', 'Garden');
      logger.error('Withered', { error: 50300 }, 'Error: no water\n    at garden.ts:1:2', 'Garden');
      logger.warn('Dry', 'Garden');
      logger.log('Rain');
      logger.debug('Wind', 'Garden');
      logger.verbose('Sun', { hours: 3, id: 1n }, 'Garden');
      const time = new Date().toISOString();
      expect(entries()).toEqual([
        { time, level: 'fatal', context: 'Garden', message: 'Fire' },
        {
          time,
          level: 'error',
          context: 'Garden',
          message: 'Withered',
          error: 50300,
          stack: expect.stringContaining('no water'),
        },
        { time, level: 'warn', context: 'Garden', message: 'Dry' },
        { time, level: 'info', context: 'PlantStore', message: 'Rain' },
        { time, level: 'debug', context: 'Garden', message: 'Wind' },
        { time, level: 'trace', context: 'Garden', message: 'Sun', hours: 3, id: '1' },
      ]);
    });

    it('should stay JSON whatever is logged', () => {
      const circle: Record<string, unknown> = { text: 'two\nlines' };
      circle.circle = circle;
      logger.log('Odd', circle, 'Garden');
      logger.log(
        'Odder',
        {
          toJSON: () => {
            throw new Error('no');
          },
        },
        'Garden',
      );
      logger.error(new Error('bare'));
      expect(entries()).toEqual([
        expect.objectContaining({ message: 'Odd', text: 'two\nlines' }),
        expect.objectContaining({ level: 'info', context: 'Garden' }),
        expect.objectContaining({ level: 'error', message: 'bare' }),
      ]);
    });
  });
});
