import { OmitType } from '@nestjs/swagger';
import { NewPlant } from '../new-plant.js';

/** What a create is answered with. */
export class Plant extends OmitType(NewPlant, ['id']) {}
