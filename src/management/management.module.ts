import { Module } from '@nestjs/common';
import { ManagementServer } from './management-server.js';
import { Metrics } from './metrics.js';

/** `/livez`, `/readyz` and `/metrics`, on a listener of their own. It is imported with the modules that it watches. */
@Module({ providers: [ManagementServer, Metrics] })
export class ManagementModule {}
