import type { LoggerService } from '@nestjs/common';

export interface LogEntry {
  level: string;
  context: unknown;
  message: unknown;
  details: unknown[];
}

/** A host's own logger. Nest gives it the context last. */
export class RecordingLogger implements LoggerService {
  readonly entries: LogEntry[] = [];

  log = this.recordAs('log');
  error = this.recordAs('error');
  warn = this.recordAs('warn');
  debug = this.recordAs('debug');
  verbose = this.recordAs('verbose');
  fatal = this.recordAs('fatal');

  /** What the host's own classes logged, in order. */
  of(...contexts: string[]): LogEntry[] {
    return this.entries.filter(({ context }) => contexts.includes(String(context)));
  }

  private recordAs(level: string) {
    return (message: unknown, ...rest: unknown[]): void => {
      this.entries.push({ level, context: rest.at(-1), message, details: rest.slice(0, -1) });
    };
  }
}
