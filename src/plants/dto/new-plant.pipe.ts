import { type ArgumentMetadata, Injectable, ValidationPipe } from '@nestjs/common';
import type { JsonObject } from '../../http/json-value.js';
import type { Sealed } from '../../http/sealed.js';
import { InvalidPlantError } from '../invalid-plant.error.js';
import { exactId } from './exact-id.js';
import { isPlant } from './is-plant.js';
import { NewPlant } from '../new-plant.js';

/** Turns an exact JSON object into a NewPlant; unknown fields are ignored, and every wrong one is named. */
@Injectable()
export class NewPlantPipe extends ValidationPipe {
  constructor() {
    super({
      // Named here and not by the parameter's type, so that no validation of a host's thinks the parameter its own.
      expectedType: NewPlant,
      transform: true,
      transformOptions: { excludeExtraneousValues: true },
      validateCustomDecorators: true,
      exceptionFactory: (errors) =>
        new InvalidPlantError(errors.flatMap(({ constraints }) => Object.values(constraints ?? {}))),
    });
  }

  override async transform(value: Sealed<JsonObject>, metadata: ArgumentMetadata): Promise<NewPlant> {
    const sent = value.open();
    const { id, name, tag } = sent;
    const fields = { id: exactId(id), name, tag };
    // The decorators, which are slow, have nothing to add to what is right.
    if (isPlant(fields)) return Object.assign(new NewPlant(), fields);
    return super.transform(sent, metadata) as Promise<NewPlant>;
  }
}
