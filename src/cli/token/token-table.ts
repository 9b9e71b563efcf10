import type { TokenRecord } from '../../auth/issued/token-record.js';

const HEADER = ['ID', 'NAME', 'SCOPES', 'CREATED', 'EXPIRES', 'LAST USED', 'STATE'];
const GAP = '   ';
/** Names and scopes have none that plant-store wrote. Whatever else is in the database must not steer a terminal. */
// eslint-disable-next-line no-control-regex -- they are what is looked for
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g;

/** A table for people; times are in UTC. */
export function tokenTable(records: readonly TokenRecord[]): string {
  const rows = [HEADER, ...records.map(cells)].map((row) => row.map((cell) => cell.replace(CONTROL, '?')));
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
