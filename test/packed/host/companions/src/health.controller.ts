import { Controller, Get } from '@nestjs/common';
import { HealthCheck, HealthCheckService, HealthIndicatorService } from '@nestjs/terminus';
import { PlantsHealth } from 'plant-store';

@Controller('health')
export class HealthController {
  constructor(
    private readonly health: HealthCheckService,
    private readonly indicators: HealthIndicatorService,
    private readonly store: PlantsHealth,
  ) {}

  @Get()
  @HealthCheck()
  check() {
    return this.health.check([
      () => {
        const plants = this.indicators.check('plants');
        return this.store.check().then(
          () => plants.up(),
          ({ message }: Error) => plants.down(message),
        );
      },
    ]);
  }
}
