import { Injectable } from '@nestjs/common';
import { PlantsHealth } from '../index.js';
import { ReadinessCheck } from './readiness-check.js';

/** Ready means that the store's database answers. */
@Injectable()
export class DatabaseReadiness extends ReadinessCheck {
  constructor(private readonly health: PlantsHealth) {
    super();
  }

  check(): Promise<void> {
    return this.health.check();
  }
}
