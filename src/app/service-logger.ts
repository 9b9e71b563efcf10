import { ConsoleLogger, type LogLevel } from '@nestjs/common';
import { NestApplication } from '@nestjs/core';
import { logWriter } from '../util/log-writer.js';
import type { Environment } from './config.js';

/** Nest's levels, from the lowest, by the names that they have in LOG_LEVEL and elsewhere. */
const LEVEL_NAMES = { verbose: 'trace', debug: 'debug', log: 'info', warn: 'warn', error: 'error', fatal: 'fatal' };
const LEVELS = Object.keys(LEVEL_NAMES) as LogLevel[];
const DEFAULT_CONTEXT = 'PlantStore';
/** Contexts in which Nest logs its own start: of use only to those who change it, so it is logged from `debug` on. */
const WIRING = new Set(['NestFactory', 'InstanceLoader', 'RoutesResolver', 'RouterExplorer', 'NestApplication']);

const WINDOW_MS = 1000;
/** Lines of one kind in a window, and of 50000: its answer has no more than the request id under which the log says what failed. */
const MAX_LINES = 10;
const MAX_UNFORESEEN_LINES = 100;
/** Kinds in a window; all others are one for each level. */
const MAX_KINDS = 100;
/** What differs between lines of one kind. */
const VARIABLE_PARTS = /"[^"]*"|\d+/g;
const MAX_PART_LENGTH = 200;

/** What Nest prints a line from: messages, context, level, stream, stack and fields. */
type Line = [unknown[], string?, LogLevel?, ('stdout' | 'stderr')?, unknown?, Record<string, unknown>?];

/**
 * Nest's logger with the level of the configuration, and with lines of our own form, which never wait for their reader: JSON, or on a
 * terminal text. Of one kind it prints ten lines a second. Of more, it prints the last one when the second is over, with the number of the others.
 */
export class ServiceLogger extends ConsoleLogger {
  /** The lines of this window, how many and the last one that was not printed, by kind. */
  private readonly kinds = new Map<string, { count: number; suppressed: number; last?: Line }>();
  private windowEnd = 0;
  private timer: NodeJS.Timeout | undefined;

  constructor({ logLevel }: Pick<Environment, 'logLevel'>, isTerminal = process.stdout.isTTY) {
    const logLevels = LEVELS.slice(LEVELS.indexOf(logLevel));
    super({
      logLevels,
      json: !isTerminal,
      flattenParams: true,
      // On a terminal Nest decides, as NO_COLOR says.
      ...(!(process.stdout.isTTY && process.stdout.hasColors()) && { colors: false }),
    });
  }

  get isJson(): boolean {
    return this.options.json === true;
  }

  protected override printMessages(...line: Line): void {
    const [, context = '', level] = line;
    // Nest reports that it cannot listen, and so does the command: once is enough.
    if (level === 'error' && context === NestApplication.name) return;
    if (level === 'log' && WIRING.has(context) && !this.isLevelEnabled('debug')) return;
    const now = performance.now();
    if (now >= this.windowEnd) this.endWindow();
    const name = kindOf(line);
    const key = this.kinds.has(name) || this.kinds.size < MAX_KINDS ? name : String(level);
    const kind = this.kinds.get(key) ?? { count: 0, suppressed: 0 };
    this.kinds.set(key, kind);
    kind.count += 1;
    if (kind.count <= (line[5]?.error === 50000 ? MAX_UNFORESEEN_LINES : MAX_LINES)) {
      this.print(...line);
      return;
    }
    if (kind.last !== undefined) kind.suppressed += 1;
    kind.last = line;
    if (this.timer !== undefined) return;
    this.timer = setTimeout(this.endWindow, this.windowEnd - now).unref();
    process.once('exit', this.endWindow);
  }

  /** Prints a line, however many there are of its kind. */
  print(...[messages, context = DEFAULT_CONTEXT, level = 'log', stream, stack, fields]: Line): void {
    if (this.options.json) {
      super.printMessages(messages, context, level, stream, stack, fields);
      return;
    }
    for (const message of messages) {
      const given = Object.entries(fields ?? {}).filter(([, value]) => value !== undefined);
      const text =
        `${new Date().toISOString()} ${this.colorize(LEVEL_NAMES[level].padStart(5), level)} ${this.formatContext(context)}` +
        this.stringifyMessage(message, level) +
        (given.length > 0 ? ` ${this.stringifyParams(Object.fromEntries(given))}` : '');
      logWriter.write(typeof stack === 'string' ? `${text}\n${stack}` : text, false);
    }
  }

  /** The stack is part of its line. */
  protected override printStackTrace(): void {
    // Nothing is left to print.
  }

  protected override printAsJson(message: unknown, options: { context: string; logLevel: LogLevel }): void {
    const { level, timestamp, ...fields } = this.getJsonLogObject(message, options);
    const head = { time: new Date(timestamp).toISOString(), level: LEVEL_NAMES[level], context: options.context };
    const text = this.stringifyJsonLogObject({ ...head, ...fields, pid: undefined });
    // What Nest cannot serialize it inspects, and that is no JSON.
    logWriter.write(text.startsWith('{"') ? text : JSON.stringify({ ...head, message: text }));
  }

  private readonly endWindow = (): void => {
    clearTimeout(this.timer);
    this.timer = undefined;
    process.off('exit', this.endWindow);
    this.windowEnd = performance.now() + WINDOW_MS;
    const ended = [...this.kinds];
    this.kinds.clear();
    for (const [key, { last, suppressed }] of ended) {
      if (last === undefined) continue;
      this.kinds.set(key, { count: 1, suppressed: 0 });
      if (suppressed > 0) last[5] = { ...last[5], suppressed };
      this.print(...last);
    }
  };
}

function kindOf([[message], context, level, , stack, fields]: Line): string {
  const [cause] = String(stack).split('\n', 1);
  const parts = [level, context, message, cause].map((part) => String(part).slice(0, MAX_PART_LENGTH));
  return `${parts.join(' ').replace(VARIABLE_PARTS, '')} ${String(fields?.error)}`;
}
