import { JwtAuthModule } from '@app/api';
import { Module } from '@nestjs/common';
import { SpeciesController } from './species/species.controller.js';

@Module({ imports: [JwtAuthModule], controllers: [SpeciesController] })
export class CatalogueModule {}
