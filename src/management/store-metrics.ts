import { Injectable } from '@nestjs/common';
import type { Registry } from 'prom-client';

import { PlantsStatistics } from '../index.js';
import { type MetricsPage, MetricsSource } from './metrics-source.js';
import type { MetricsSnapshot } from './metrics-snapshot.js';
import { observeProcess } from './process-metrics.js';

/**
 * The metrics of this process. prom-client is loaded, and the process observed, from the first time that somebody asks: a start
 * takes no longer for it, and who does not ask does not pay.
 */
@Injectable()
export class StoreMetrics extends MetricsSource {
  private registries: Promise<{ service: Registry; process: Registry }> | undefined;

  constructor(private readonly statistics: PlantsStatistics) {
    super();
  }

  async page(): Promise<MetricsPage> {
    const { service, process } = await this.observe();
    const content = `${await service.metrics()}\n${await process.metrics()}`;
    return { contentType: service.contentType, content };
  }

  async snapshot(): Promise<MetricsSnapshot> {
    const { service, process } = await this.observe();
    return { service: await service.getMetricsAsJSON(), process: await process.getMetricsAsJSON() };
  }

  private observe(): NonNullable<typeof this.registries> {
    this.registries ??= this.begin();
    return this.registries;
  }

  private async begin(): NonNullable<typeof this.registries> {
    const [{ observeService }, process] = await Promise.all([import('./service-metrics.js'), observeProcess()]);
    return { service: observeService(this.statistics), process };
  }
}
