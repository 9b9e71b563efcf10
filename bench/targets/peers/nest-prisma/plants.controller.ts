import { Body, Controller, HttpCode, Post, UseGuards } from '@nestjs/common';
import { AuthGuard } from '@nestjs/passport';
import { CreatePlantDto } from './create-plant.dto.js';
import { PlantsService } from './plants.service.js';

@Controller('plants')
@UseGuards(AuthGuard('bearer'))
export class PlantsController {
  constructor(private readonly plantsService: PlantsService) {}

  @Post()
  @HttpCode(200)
  create(@Body() createPlantDto: CreatePlantDto): Promise<{ name: string; tag?: string }> {
    return this.plantsService.create(createPlantDto);
  }
}
