import { Inject, Injectable, Logger } from '@nestjs/common';
import { assertIdempotencyKey } from './idempotency-key.js';
import { assertPlant, isStorableText, type NewPlant, type Plant, plantOf } from './new-plant.js';
import { toRecord } from './plant-sql.js';
import { PlantsStatistics } from './plants-statistics.js';
import {
  type CreatedPlant,
  type Creator,
  PLANTS_MODULE_SETTINGS,
  type PlantsModuleSettings,
} from './plants.options.js';
import { PlantsRepository } from './plants.repository.js';

const MAX_NAME_LENGTH = 255;

/** @throws TypeError where nobody has such a name; the application may say anything */
function assertCreator(creator: unknown): asserts creator is Creator {
  const { name } = Object(creator) as Record<string, unknown>;
  if (isStorableText(name) && name.length > 0 && name.length <= MAX_NAME_LENGTH) return;
  throw new TypeError(
    `the name of a plant's creator cannot be stored: a TokenVerifier, or createdBy of the options, has to return one of ` +
      `1 to ${MAX_NAME_LENGTH} characters without U+0000 and lone surrogates`,
  );
}

/** Creates plants; for code of the application that does not go through HTTP. */
@Injectable()
export class PlantsService {
  private readonly logger = new Logger(PlantsService.name);

  constructor(
    private readonly repository: PlantsRepository,
    private readonly statistics: PlantsStatistics,
    @Inject(PLANTS_MODULE_SETTINGS) private readonly settings: Pick<PlantsModuleSettings, 'onCreated'>,
  ) {}

  /**
   * Creates a plant, or recognises that this very request has created it before.
   *
   * @param plant its id a bigint, the other fields as in a request
   * @param idempotencyKey 1 to 255 characters; none unless given
   * @param creator who creates it; stored as unknown unless given
   * @throws ApiError whose `error` is the number of the failure:
   *   - 40003 where this is no plant, with every fault in the message, and 40004 where the key is none;
   *   - 40901 where the id is taken, and 40902 where this key created a plant of this id with other fields;
   *   - 50300 and 50301 where nothing was written, and it may be tried again;
   *   - 50400 where the outcome is unknown: only with a key may it be tried again, unchanged;
   *   - 50000 for any other failure, which is its cause.
   * @throws TypeError where the creator's name cannot be stored
   */
  async create(plant: NewPlant, idempotencyKey?: string, creator?: Creator): Promise<Plant> {
    assertPlant(plant);
    if (idempotencyKey !== undefined) assertIdempotencyKey(idempotencyKey);
    if (creator !== undefined) assertCreator(creator);
    if (await this.repository.create(toRecord(plant, idempotencyKey, creator?.name))) {
      this.statistics.countCreated(creator);
      void this.report({ id: plant.id, createdBy: creator?.name });
    }
    return plantOf(plant);
  }

  /** The plant is stored, and answered so, whatever the application makes of it. */
  private async report(plant: CreatedPlant): Promise<void> {
    try {
      await this.settings.onCreated?.(plant);
    } catch (error) {
      this.logger.error('onCreated of the options failed', error instanceof Error ? error.stack : error);
    }
  }
}
