import { Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { readFile } from 'node:fs/promises';
import { accessTokensFault, type StaticTokenVerifier } from '../auth/static-tokens.js';
import { quote } from '../util/text.js';
import { readVariable, rereadableFile } from './config-values.js';
import { Environment } from './config.js';

/** Pause between two readings. */
const READ_EVERY_MS = 500;

/** Reads `ACCESS_TOKENS_FILE` again and again, as its content may be replaced in any way, and replaces the tokens when it changes. */
export class TokenFile implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger(TokenFile.name);
  private readonly path: string | undefined;
  private timer: NodeJS.Timeout | undefined;
  /** The tokens or the fault of the last reading, and those that are in effect or logged. */
  private found = '';
  private applied: string;

  constructor(
    private readonly options: Pick<Environment, 'accessTokens' | 'variables'>,
    private readonly verifier: StaticTokenVerifier,
  ) {
    this.path = rereadableFile('ACCESS_TOKENS', options.variables);
    this.applied = options.accessTokens.join();
  }

  onModuleInit(): void {
    const { path } = this;
    if (path === undefined) return;
    const check = (): void => void this.check(path).finally(() => this.timer?.refresh());
    this.timer = setTimeout(check, READ_EVERY_MS).unref();
  }

  onApplicationShutdown(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  /** Applies what two readings in a row have found: one alone may find half of the file. */
  async check(path: string): Promise<void> {
    let tokens: string[] = [];
    let fault: string | undefined;
    try {
      tokens = readVariable(new Environment(), 'accessTokens', await readFile(path, 'utf8')) as string[];
      fault = tokens.length === 0 ? 'holds no token' : accessTokensFault(tokens);
    } catch (error) {
      fault = `cannot be read (${String((error as NodeJS.ErrnoException).code)})`;
    }
    const before = this.found;
    this.found = fault ?? tokens.join();
    if (this.found !== before || this.found === this.applied) return;
    this.applied = this.found;
    if (fault !== undefined) {
      this.logger.error(`ACCESS_TOKENS_FILE: ${quote(path)}: ${fault}. The tokens stay as they were`);
      return;
    }
    this.verifier.replace(tokens);
    // The access log masks old ones too: they may be valid elsewhere.
    this.options.accessTokens = [...new Set([...this.options.accessTokens, ...tokens])];
    this.logger.log(`ACCESS_TOKENS_FILE has changed. Valid static tokens: ${new Set(tokens).size}`);
  }
}
