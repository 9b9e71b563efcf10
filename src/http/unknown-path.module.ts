import { Module } from '@nestjs/common';
import { UnknownPathController } from './server/unknown-path.module.js';

/** To be imported last: routes are tried in the order of the modules, and this one answers whatever is left. */
@Module({ controllers: [UnknownPathController] })
export class UnknownPathModule {}
