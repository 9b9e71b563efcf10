import { ConsoleLogger, type LogLevel } from '@nestjs/common';
import type { Environment } from './environment.js';

/** The names that LOG_LEVEL has for Nest's levels, from the gravest. */
const LEVEL_NAMES = { fatal: 'fatal', error: 'error', warn: 'warn', log: 'info', debug: 'debug', verbose: 'trace' };
/** Nest logs each step of its start, and a failed listen, which the command reports as well. */
const NESTS_OWN = new Set(['NestFactory', 'InstanceLoader', 'RoutesResolver', 'RouterExplorer', 'NestApplication']);
/** Context of the access log. */
export const REQUEST = 'Request';
/** Lines of one kind in a second. */
const MAX_LINES = 10;
/** What differs between messages of one kind. */
const VARIABLE_PARTS = /"[^"]*"|\d+/g;
/** Characters that may wait for the reader: Node keeps in memory what a pipe does not take. */
const MAX_WAITING_LENGTH = 4_194_304;

/** What Nest prints a line from: messages, context, level, stream, stack and fields. */
type Line = [unknown[], string?, LogLevel?, ('stdout' | 'stderr')?, unknown?, Record<string, unknown>?];

/**
 * Nest's logger on one stream, which never waits for its reader. Of one kind it prints ten lines in a second, and after it the last of the
 * others with their number as `suppressed`. LOG_REQUESTS=all has no such limit.
 */
export class ServiceLogger extends ConsoleLogger {
  private readonly kinds = new Map<string, { count: number; last: Line }>();
  /** Lines that found no place since the last one that was printed. */
  private dropped = 0;

  constructor(private readonly environment: Pick<Environment, 'LOG_LEVEL' | 'LOG_REQUESTS'>) {
    const lowest = Object.values(LEVEL_NAMES).indexOf(environment.LOG_LEVEL);
    const logLevels = Object.keys(LEVEL_NAMES).slice(0, lowest + 1) as LogLevel[];
    super({ context: 'PlantStore', logLevels, json: !process.stdout.isTTY, flattenParams: true });
  }

  protected override printMessages(...line: Line): void {
    const [[message], context = '', level, , , fields] = line;
    if (NESTS_OWN.has(context)) return;
    if (context === REQUEST && this.environment.LOG_REQUESTS === 'all') {
      this.print(line);
      return;
    }
    const kindOfMessage =
      typeof fields?.error === 'number' ? fields.error : String(message).replace(VARIABLE_PARTS, '');
    const name = `${level} ${context} ${kindOfMessage}`;
    const kind = this.kinds.get(name) ?? { count: 0, last: line };
    if (kind.count === 0) {
      this.kinds.set(name, kind);
      setTimeout(() => {
        this.kinds.delete(name);
        const suppressed = kind.count - MAX_LINES - 1;
        if (suppressed >= 0) this.print(kind.last, suppressed > 0 ? { suppressed } : {});
      }, 1000).unref();
    }
    kind.count += 1;
    kind.last = line;
    if (kind.count <= MAX_LINES) this.print(line);
  }

  private print([messages, context, level, , stack, given]: Line, others: object = {}): void {
    if (process.stdout.writableLength > MAX_WAITING_LENGTH) {
      this.dropped += 1;
      return;
    }
    const fields = { ...given, ...others, ...(this.dropped > 0 && { dropped: this.dropped }) };
    this.dropped = 0;
    const params = Object.keys(fields).length > 0 ? fields : undefined;
    super.printMessages(messages, context, level, 'stdout', stack, params);
    // On a terminal Nest would write the stack to another stream.
    if (!this.options.json && typeof stack === 'string') process.stdout.write(`${stack}\n`);
  }

  protected override printStackTrace(): void {
    // It is part of its line.
  }

  /** With the names that readers of logs know in place of Nest's own. */
  protected override stringifyJsonLogObject(line: Record<string, unknown>): string {
    const { timestamp, level, context, message, ...fields } = line;
    const time = new Date(Number(timestamp)).toISOString();
    const head = { time, level: LEVEL_NAMES[level as LogLevel], context, message };
    return super.stringifyJsonLogObject({ ...head, ...fields, pid: undefined });
  }
}
