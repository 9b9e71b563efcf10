import { ConsoleLogger, type LogLevel } from '@nestjs/common';
import { NestApplication } from '@nestjs/core';
import { logWriter } from '../util/log-writer.js';

interface ServiceLoggerOptions {
  logLevel: LogLevel;
  logFormat: 'json' | 'pretty';
}

const LEVELS: readonly LogLevel[] = ['verbose', 'debug', 'log', 'warn', 'error', 'fatal'];
/** Contexts in which Nest logs its own start: of use only to those who change it, so it is logged from `debug` on. */
const WIRING = new Set(['NestFactory', 'InstanceLoader', 'RoutesResolver', 'RouterExplorer', 'NestApplication']);

const WINDOW_MS = 1000;
/** Lines of one kind in a window. */
const MAX_LINES = 10;
/** The same for 50000: its answer says only where the log has more. */
const MAX_UNFORESEEN_LINES = 100;
/** Kinds in a window. Others are one kind for each level. */
const MAX_KINDS = 100;
/** What differs between messages of one kind. */
const VARIABLE_PARTS = /"[^"]*"|\d+/g;
const MAX_KIND_LENGTH = 200;

/** What Nest prints a line from: messages, context, level, stream, stack and fields. */
type Line = [unknown[], string?, LogLevel?, ('stdout' | 'stderr')?, unknown?, Record<string, unknown>?];

/** The lines of one kind in this window. */
interface Kind {
  printed: number;
  held: number;
  last?: Line;
}

/**
 * Nest's console logger with the level and format of the configuration. Of one kind it prints ten lines a second. Of more, it prints the
 * last one when the second is over, with the number of the others.
 */
export class ServiceLogger extends ConsoleLogger {
  private readonly kinds = new Map<string, Kind>();
  private windowEnd = 0;
  private timer: NodeJS.Timeout | undefined;
  private isPrinting = true;

  constructor({ logLevel, logFormat }: ServiceLoggerOptions) {
    const logLevels = LEVELS.slice(LEVELS.indexOf(logLevel));
    super({
      logLevels,
      json: logFormat === 'json',
      flattenParams: true,
      colors: logFormat === 'pretty' && process.stdout.isTTY,
      prefix: 'plant-store',
    });
  }

  /** Nest reports that it cannot listen, and so does the command: once is enough. */
  override error(message: unknown, ...rest: unknown[]): void {
    if (rest.at(-1) === NestApplication.name) return;
    super.error(message, ...(rest as [string]));
  }

  override log(message: unknown, ...rest: unknown[]): void {
    if (WIRING.has(rest.at(-1) as string) && !this.isLevelEnabled('debug')) return;
    super.log(message, ...(rest as [string]));
  }

  protected override printMessages(...line: Line): void {
    const now = performance.now();
    if (now >= this.windowEnd) this.endWindow();
    const kind = this.kindOf(line);
    const limit = line[5]?.error === 50000 ? MAX_UNFORESEEN_LINES : MAX_LINES;
    this.isPrinting = kind.printed < limit;
    if (this.isPrinting) {
      kind.printed += 1;
      super.printMessages(...line);
      return;
    }
    kind.held += 1;
    kind.last = line;
    if (this.timer !== undefined) return;
    this.timer = setTimeout(this.endWindow, this.windowEnd - now).unref();
    process.once('exit', this.endWindow);
  }

  /** Nest calls it after printMessages(). */
  protected override printStackTrace(stack: string): void {
    if (this.isPrinting) super.printStackTrace(stack);
  }

  protected override printAsJson(message: unknown, options: { context: string; logLevel: LogLevel }): void {
    logWriter.write(this.stringifyJsonLogObject(this.getJsonLogObject(message, options)));
  }

  private readonly endWindow = (): void => {
    clearTimeout(this.timer);
    this.timer = undefined;
    process.off('exit', this.endWindow);
    this.windowEnd = performance.now() + WINDOW_MS;
    for (const [name, { held, last }] of [...this.kinds]) {
      this.kinds.delete(name);
      if (last === undefined) continue;
      const [messages, context, level, stream, stack, params] = last;
      this.kinds.set(name, { printed: 1, held: 0 });
      const fields = held > 1 ? { ...params, suppressed: held - 1 } : params;
      super.printMessages(messages, context, level, stream, stack, fields);
    }
  };

  private kindOf([[message], context = '', level = 'log', , stack]: Line): Kind {
    const text = message instanceof Error ? message.message : typeof message === 'string' ? message : '';
    const [cause = ''] = typeof stack === 'string' ? stack.split('\n', 1) : [];
    const [what, why] = [text, cause].map((part) => part.slice(0, MAX_KIND_LENGTH).replace(VARIABLE_PARTS, ''));
    const name = `${level} ${context} ${what} ${why}`;
    const isNew = !this.kinds.has(name);
    const key = isNew && this.kinds.size >= MAX_KINDS ? level : name;
    const kind = this.kinds.get(key) ?? { printed: 0, held: 0 };
    this.kinds.set(key, kind);
    return kind;
  }
}
