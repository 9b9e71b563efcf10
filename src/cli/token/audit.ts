import { userInfo } from 'node:os';
import { escapeControls } from '../../util/text.js';

/** A change of access tokens, and who made it. */
interface AuditEntry {
  /** The command that made it: create, rotate, revoke or prune. */
  readonly action: string;
  readonly tokens: readonly { readonly id: number; readonly name: string }[];
  /** The user of the operating system; undefined if it has no name. */
  readonly user: string | undefined;
  /** The role of the database. */
  readonly role: string | undefined;
}

/** In a container the number of a user may have no name. */
export function userName(): string | undefined {
  try {
    return userInfo().username;
  } catch {
    return process.getuid?.().toString();
  }
}

/** Writes the line of the log to standard error, as JSON with the names of the service's log. */
export function writeAudit({ action, tokens, user, role }: AuditEntry, json: boolean): void {
  const time = new Date().toISOString();
  const message = `token ${action}`;
  const names = tokens.map(({ id, name }) => `${name} (id ${id})`).join(', ');
  const line = json
    ? JSON.stringify({ time, level: 'info', context: 'Audit', message, tokens, user, role })
    : `${time}  info [Audit] ${message}: ${names}, by ${user ?? 'an unknown user'} as the role ${role ?? 'unknown'}`;
  console.error(escapeControls(line));
}
