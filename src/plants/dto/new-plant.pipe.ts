import { Injectable, ValidationPipe } from '@nestjs/common';
import { InvalidPlantError } from '../invalid-plant.error.js';

/** Turns an exact JSON object into a NewPlant; unknown fields are ignored, and every wrong one is named. */
@Injectable()
export class NewPlantPipe extends ValidationPipe {
  constructor() {
    super({
      transform: true,
      transformOptions: { excludeExtraneousValues: true },
      validateCustomDecorators: true,
      exceptionFactory: (errors) =>
        new InvalidPlantError(errors.flatMap(({ constraints }) => Object.values(constraints ?? {}))),
    });
  }
}
