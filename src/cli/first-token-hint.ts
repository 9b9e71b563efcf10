import { Logger } from '@nestjs/common';
import { reasonOf } from '../util/text.js';
import { withTokensOf } from './token/token-database.js';

const ADVICE =
  'Create one with "plant-store token create --name NAME" ("npm run plant-store -- token create --name NAME" in a checkout, ' +
  '"docker compose exec api plant-store token create --name NAME" with Docker Compose)';
/** Milliseconds that a stop waits for what the database has to say. */
const FAREWELL_MS = 1000;

/** Tells how to create an access token where none is valid. The service runs all the same: a token counts from its creation on. */
export class FirstTokenHint {
  private readonly logger = new Logger('PlantStore');
  private readonly ending = new AbortController();

  async give(database: { url: string; password?: string | undefined }): Promise<void> {
    const { signal } = this.ending;
    try {
      if (await withTokensOf({ ...database, signal }, (tokens) => tokens.hasValid())) return;
      this.logger.warn(`No access token is valid now, so nobody can create plants. ${ADVICE}`);
    } catch (error) {
      if (signal.aborted) return;
      this.logger.warn(`Whether any access token is valid is not known: ${reasonOf(error)}. ${ADVICE}`);
    }
  }

  /** Whatever the database does, it does not keep the process from ending. */
  end(): void {
    setTimeout(() => {
      this.ending.abort();
    }, FAREWELL_MS).unref();
  }
}
