import type { TokenRecord } from '../../auth/tokens/token-record.js';
import { escapeControls } from '../../util/text.js';

const HEADER = ['ID', 'NAME', 'SCOPES', 'CREATED', 'EXPIRES', 'LAST USED', 'STATE'];
const GAP = '   ';
/** A table for people; times are in UTC. */
export function tokenTable(records: readonly TokenRecord[]): string {
  // Names and scopes have no control characters that plant-store wrote. Whatever else is in the database has none here either.
  const rows = [HEADER, ...records.map(cells)].map((row) => row.map((cell) => escapeControls(cell)));
  const widths = HEADER.map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join(GAP)
        .trimEnd(),
    )
    .join('\n');
}

function cells({ id, name, scopes, createdAt, expiresAt, lastUsedAt, state }: TokenRecord): string[] {
  return [
    String(id),
    name,
    scopes.join(',') || '-',
    utc(createdAt),
    expiresAt === null ? 'never' : utc(expiresAt),
    lastUsedAt === null ? '-' : utc(lastUsedAt),
    state,
  ];
}

/** To the second. */
export function utc(time: Date): string {
  return `${time.toISOString().slice(0, -5)}Z`;
}
