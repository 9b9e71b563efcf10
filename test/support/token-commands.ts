import { expect } from '@jest/globals';
import { createHash } from 'node:crypto';
import { PlantStoreProcess } from './process.js';

export const ISSUED_TOKEN = /^plant_[0-9A-Za-z]{38}$/;

/** What `plant-store token list --json` tells. */
export interface ListedToken {
  id: number;
  name: string;
  scopes: string[];
  createdAt: string;
  expiresAt: string | null;
  lastUsedAt: string | null;
  revokedAt: string | null;
  state: string;
}

/** Runs `plant-store token …` on one database, and remembers all that was printed. */
export class TokenCommands {
  readonly tokens: string[] = [];
  private readonly runs: PlantStoreProcess[] = [];

  constructor(private readonly variables: Record<string, string>) {}

  async run(...args: string[]): Promise<PlantStoreProcess> {
    const run = await PlantStoreProcess.run(['token', ...args], this.variables);
    this.runs.push(run);
    return run;
  }

  /** Runs what makes a token, and expects it to print that and nothing else. */
  async make(...args: string[]): Promise<{ token: string; told: string }> {
    const run = await this.run(...args);
    const { stdout, stderr } = run;
    expect([stderr, await run.ended]).toEqual([expect.any(String), 0]);
    const token = stdout.slice(0, -1);
    expect(stdout).toBe(`${token}\n`);
    expect(token).toMatch(ISSUED_TOKEN);
    this.tokens.push(token);
    return { token, told: stderr };
  }

  async list(name?: string): Promise<ListedToken[]> {
    const run = await this.run('list', '--json');
    expect(await run.ended).toBe(0);
    const tokens = JSON.parse(run.stdout) as ListedToken[];
    return tokens.filter((token) => name === undefined || token.name === name);
  }

  /** Runs what fails. Returns what it told of that. */
  async fail(code: number, ...args: string[]): Promise<string> {
    const run = await this.run(...args);
    expect([run.stdout, await run.ended]).toEqual(['', code]);
    expect(run.stderr).toMatch(/^plant-store: /);
    expect(run.stderr).not.toMatch(/\n\s+at /);
    return run.stderr;
  }

  /** No token stands anywhere but, alone, where it was made; no digest anywhere. */
  expectNothingTold(): void {
    expect(this.tokens.length).toBeGreaterThan(0);
    for (const token of this.tokens) {
      for (const { stdout, stderr } of this.runs) {
        if (stdout !== `${token}\n`) expect(stdout).not.toContain(token.slice(6, 20));
        expect(stderr).not.toContain(token.slice(6, 20));
        for (const encoding of ['hex', 'base64', 'base64url'] as const) {
          expect(stdout + stderr).not.toContain(createHash('sha256').update(token).digest(encoding));
        }
      }
    }
  }
}
