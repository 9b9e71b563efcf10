import { ConsoleLogger, Inject, Injectable, type LogLevel } from '@nestjs/common';
import { Environment } from './environment.js';

/** The names of LOG_LEVEL for the levels of Nest, gravest first. */
const LEVEL_NAMES = { fatal: 'fatal', error: 'error', warn: 'warn', log: 'info', debug: 'debug', verbose: 'trace' };
/** Nest logs each step of its start. It also logs a failed listen, which the command reports again. */
const NEST_CONTEXTS = new Set(['NestFactory', 'InstanceLoader', 'RoutesResolver', 'RouterExplorer', 'NestApplication']);
/** The context of the access log. */
export const ACCESS_LOG_CONTEXT = 'Request';
/** The most lines of one kind in a second. Lines that differ in numbers and quoted texts alone are of one kind. */
const MAX_LINES = 10;
const VARIABLE_PARTS = /"[^"]*"|\d+/g;
/** The most characters that may wait. Node.js keeps in memory what a pipe does not take. */
const MAX_WAITING_LENGTH = 4_194_304;

type LogObject = Readonly<Record<string, unknown>>;
/** The arguments of `printMessages`: messages, context, level, stream, stack and fields. */
type PrintArguments = [unknown[], string?, LogLevel?, ('stdout' | 'stderr')?, unknown?, Record<string, unknown>?];

/**
 * Nest's logger on standard output, which never waits for its reader. `suppressed` counts the lines that were omitted.
 * Requests have no limit with LOG_REQUESTS=all.
 */
@Injectable()
export class ServiceLogger extends ConsoleLogger {
  private readonly counts = new Map<string, number>();
  private secondEndsAt = 0;
  private suppressed = 0;

  constructor(@Inject(Environment) private readonly environment: Pick<Environment, 'LOG_LEVEL' | 'LOG_REQUESTS'>) {
    const lowest = Object.values(LEVEL_NAMES).indexOf(environment.LOG_LEVEL);
    const logLevels = Object.keys(LEVEL_NAMES).slice(0, lowest + 1) as LogLevel[];
    super({ context: 'PlantStore', logLevels, json: !process.stdout.isTTY, flattenParams: true });
  }

  protected override printMessages(...[messages, context = '', level, , stack, given]: PrintArguments): void {
    if (NEST_CONTEXTS.has(context)) return;
    const hasLimit = context !== ACCESS_LOG_CONTEXT || this.environment.LOG_REQUESTS !== 'all';
    const what = typeof given?.error === 'number' ? given.error : String(messages[0]).replace(VARIABLE_PARTS, '');
    const isTooOften = hasLimit && this.countOf(`${level} ${context} ${what}`) > MAX_LINES;
    if (isTooOften || process.stdout.writableLength > MAX_WAITING_LENGTH) {
      this.suppressed += 1;
      return;
    }
    const suppressed = this.suppressed > 0 && { suppressed: this.suppressed };
    this.suppressed = 0;
    super.printMessages(messages, context, level, 'stdout', stack, { ...given, ...suppressed });
  }

  private countOf(kind: string): number {
    if (performance.now() >= this.secondEndsAt) {
      this.counts.clear();
      this.secondEndsAt = performance.now() + 1000;
    }
    const count = (this.counts.get(kind) ?? 0) + 1;
    this.counts.set(kind, count);
    return count;
  }

  /** Uses the field names that log readers know, instead of those of Nest. */
  protected override stringifyJsonLogObject({ timestamp, level, context, message, ...fields }: LogObject): string {
    const time = new Date(Number(timestamp)).toISOString();
    const line = { time, level: LEVEL_NAMES[level as LogLevel], context, message, ...fields, pid: undefined };
    return super.stringifyJsonLogObject(line);
  }
}
