import { join } from 'node:path';
import { ROOT } from '../root.js';

/** What is measured: a server that creates plants, or that only answers. */
export interface ServerTarget {
  readonly kind: 'server';
  /** By which `--targets` chooses it. */
  readonly name: string;
  /** For people. */
  readonly title: string;
  /** The program, if it is not the Node.js that runs the benchmark. */
  readonly program?: () => Promise<string>;
  /** What the program runs. It listens on `PORT` of 127.0.0.1, and accepts `ACCESS_TOKEN`, and the token that was issued. */
  readonly command: readonly string[];
  /** Whose `migrate` makes its tables; the one that is measured first unless given. */
  readonly build?: string;
  /** Whether its token is issued in the database, with the command of its build; one of the configuration unless given. */
  readonly issuesToken?: boolean;
  /** The target whose process and database it has, with the token of the configuration. */
  readonly runsIn?: string;
  /** Environment variables in addition to those of every target. */
  readonly variables?: Readonly<Record<string, string>>;
  /** Whether it sends its traces to a collector. */
  readonly isTraced?: boolean;
  /** Whether it is measured only if `--targets` names it. */
  readonly onlyByName?: boolean;
  /** Not the echo. */
  readonly storesPlants: boolean;
}

/** PostgreSQL on its own, called by pgbench. */
export interface DatabaseTarget {
  readonly kind: 'database';
  readonly name: string;
  readonly title: string;
  readonly build?: never;
  readonly onlyByName?: never;
}

export type Target = ServerTarget | DatabaseTarget;

/** A server that is a script of this benchmark's own, in `targets/`. */
export function scriptTarget(name: string, title: string, script: string): ServerTarget {
  return { kind: 'server', name, title, command: [join(ROOT, 'bench/dist/bench/targets', script)], storesPlants: true };
}
