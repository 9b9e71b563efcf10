import { expect } from '@jest/globals';
import { type TokenRecord, TokensService } from '../../../src/auth/tokens.service.js';
import { UrlDatabase } from '../../../src/database/url-database.js';
import type { TestDatabase } from '../database/test-database.js';
import { type CommandOutcome, outcomeOfCommandLine } from '../service/run-command-line.js';
import { digestForms, issueToken, type StoredToken, type TokenFields } from './issued-token.js';

export const ISSUED_TOKEN = /^plant_[0-9A-Za-z]{38}$/;

/** A record, with its moments as texts. */
export type ListedToken = Omit<TokenRecord, `${string}At`> &
  Record<'createdAt', string> &
  Record<'expiresAt' | 'lastUsedAt' | 'revokedAt', string | null>;

/** Work on the tokens of a database without a command. */
export async function withTokens<T>(url: string, work: (tokens: TokensService) => Promise<T>): Promise<T> {
  const database = new UrlDatabase({ url, size: 1 });
  try {
    return await work(new TokensService(database));
  } finally {
    await database.onApplicationShutdown();
  }
}

/** Runs `plant-store token …` on one database, and remembers all that was printed. */
export class TokenCommands {
  readonly tokens: string[] = [];
  private readonly runs: CommandOutcome[] = [];

  constructor(private readonly database: Pick<TestDatabase, 'url' | 'query'>) {}

  async run(...args: string[]): Promise<CommandOutcome> {
    const run = await outcomeOfCommandLine(['token', ...args], { DATABASE_URL: this.database.url });
    this.runs.push(run);
    return run;
  }

  /** Runs what makes a token, and expects it to print that and nothing else. */
  async make(...args: string[]): Promise<{ token: string; told: string }> {
    const { code, stdout, stderr } = await this.run(...args);
    expect([stderr, code]).toEqual([expect.any(String), 0]);
    const token = stdout.slice(0, -1);
    expect(stdout).toBe(`${token}\n`);
    expect(token).toMatch(ISSUED_TOKEN);
    this.tokens.push(token);
    return { token, told: stderr };
  }

  /** A token that is there, without a command that made it. */
  async issue(name: string, fields: Omit<TokenFields, 'name'> = {}): Promise<StoredToken> {
    const stored = await issueToken(this.database, { name, ...fields });
    this.tokens.push(stored.token);
    return stored;
  }

  /** Without a process, as it is asked for all the time. */
  async list(name?: string): Promise<ListedToken[]> {
    const records = await withTokens(this.database.url, (tokens) => tokens.list());
    const tokens = JSON.parse(JSON.stringify(records)) as ListedToken[];
    return tokens.filter((token) => name === undefined || token.name === name);
  }

  async only(name: string): Promise<ListedToken> {
    const [token, ...others] = await this.list(name);
    if (token === undefined || others.length > 0) throw new Error(`there is not one token ${name}`);
    return token;
  }

  async states(name: string): Promise<string[]> {
    return (await this.list(name)).map(({ state }) => state);
  }

  /** Runs a command that fails. Returns its message. */
  async fail(code: number, ...args: string[]): Promise<string> {
    const run = await this.run(...args);
    expect([run.stdout, run.code]).toEqual(['', code]);
    expect(run.stderr).toMatch(/^plant-store: /);
    expect(run.stderr).not.toMatch(/\n\s+at /);
    return run.stderr;
  }

  /** Each token is only in the output of the command that made it, alone; no digest is anywhere. */
  expectNothingTold(): void {
    expect(this.tokens.length).toBeGreaterThan(0);
    for (const token of this.tokens) {
      for (const { stdout, stderr } of this.runs) {
        if (stdout !== `${token}\n`) expect(stdout).not.toContain(token.slice(6, 20));
        expect(stderr).not.toContain(token.slice(6, 20));
        for (const form of digestForms(token)) expect(stdout + stderr).not.toContain(form);
      }
    }
  }
}
