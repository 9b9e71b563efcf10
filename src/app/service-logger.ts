import { ConsoleLogger, type LogLevel } from '@nestjs/common';
import { NestApplication } from '@nestjs/core';

interface ServiceLoggerOptions {
  logLevel: LogLevel;
  logFormat: 'json' | 'pretty';
}

const LEVELS: readonly LogLevel[] = ['verbose', 'debug', 'log', 'warn', 'error', 'fatal'];
/** Contexts in which Nest logs its own start: of use only to those who change it, so it is logged from `debug` on. */
const WIRING = new Set(['NestFactory', 'InstanceLoader', 'RoutesResolver', 'RouterExplorer', 'NestApplication']);

/** Nest's console logger with the level and format of the configuration. */
export class ServiceLogger extends ConsoleLogger {
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
}
