import { MigrationError } from './migration.error.js';
import type { MigrationStatus } from './migration-status.js';

/** Throws where migrations that this build has not made, or not finished, stand in the way of its own. */
export function assertHistoryUsable({ failed, unknown }: MigrationStatus, place: string): void {
  if (failed.length > 0) {
    throw new MigrationError(
      'failed',
      `${place} has a migration that was begun and not finished: ${failed.join(', ')}. If another process is applying it, ` +
        `wait for that; if it failed, ${resolution(failed)}`,
    );
  }
  if (unknown.length > 0) {
    throw new MigrationError(
      'ahead',
      `${place} is migrated further than this build knows: ${unknown.join(', ')}. Deploy the newer build`,
    );
  }
}

/** What to do about failed migrations. */
export function resolution(failed: readonly string[]): string {
  const commands = failed.map((name) => `\`prisma migrate resolve --rolled-back ${name}\``);
  return `remove the cause, mark it as rolled back with ${commands.join(' and ')}, and run \`plant-store migrate\``;
}
