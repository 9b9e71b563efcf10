import { JwtAuthGuard } from '@app/api';
import { Body, Controller, Get, Post, UseGuards } from '@nestjs/common';
import { Species } from './species.dto.js';

@Controller('species')
export class SpeciesController {
  private readonly species: Species[] = [{ name: 'Rosa canina', family: 'Rosaceae' }];

  @Get()
  list(): Species[] {
    return this.species;
  }

  @Post()
  @UseGuards(JwtAuthGuard)
  add(@Body() species: Species): Species {
    this.species.push(species);
    return species;
  }
}
