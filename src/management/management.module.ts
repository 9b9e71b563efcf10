import { Module } from '@nestjs/common';

import { ConfigurableModuleClass } from './management.options.js';
import { ManagementServer } from './management-server.js';
import { Readiness } from './readiness.js';

/** Answers an operator's questions on a listener of its own, never on the public port. Wants a `ReadinessCheck` and a `MetricsSource`. */
@Module({ providers: [ManagementServer, Readiness], exports: [ManagementServer, Readiness] })
export class ManagementModule extends ConfigurableModuleClass {}
