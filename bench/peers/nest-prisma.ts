import 'reflect-metadata';
import { Body, Controller, HttpCode, Injectable, Module, Post, UseGuards, ValidationPipe } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { AuthGuard, PassportModule, PassportStrategy } from '@nestjs/passport';
import { PrismaPg } from '@prisma/adapter-pg';
import { IsInt, IsOptional, IsString } from 'class-validator';
import { timingSafeEqual } from 'node:crypto';
import { Strategy } from 'passport-http-bearer';
import { PrismaClient } from '../../src/database/generated/client.js';

// As the documentation of Nest and of Prisma teaches it, each in the simplest form.
const expected = Buffer.from(process.env.ACCESS_TOKENS ?? '');

class CreatePlantDto {
  @IsInt()
  id!: number;

  @IsString()
  name!: string;

  @IsOptional()
  @IsString()
  tag?: string;
}

@Injectable()
class PrismaService extends PrismaClient {
  constructor() {
    super({ adapter: new PrismaPg({ connectionString: process.env.DATABASE_URL ?? '' }) });
  }
}

@Injectable()
class PlantsService {
  constructor(private readonly prisma: PrismaService) {}

  async create({ id, name, tag }: CreatePlantDto): Promise<{ name: string; tag?: string }> {
    const plant = await this.prisma.plant.create({ data: { id, name, tag: tag ?? null } });
    return { name: plant.name, ...(plant.tag !== null && { tag: plant.tag }) };
  }
}

@Injectable()
class BearerStrategy extends PassportStrategy(Strategy) {
  validate(token: string): { name: string } | false {
    const given = Buffer.from(token);
    return given.length === expected.length && timingSafeEqual(given, expected) && { name: 'static' };
  }
}

@Controller('plants')
@UseGuards(AuthGuard('bearer'))
class PlantsController {
  constructor(private readonly plantsService: PlantsService) {}

  @Post()
  @HttpCode(200)
  create(@Body() createPlantDto: CreatePlantDto): Promise<{ name: string; tag?: string }> {
    return this.plantsService.create(createPlantDto);
  }
}

@Module({
  imports: [PassportModule],
  controllers: [PlantsController],
  providers: [PlantsService, PrismaService, BearerStrategy],
})
class AppModule {}

const app = await NestFactory.create(AppModule);
app.useGlobalPipes(new ValidationPipe());
await app.listen(Number(process.env.PORT), '127.0.0.1');
