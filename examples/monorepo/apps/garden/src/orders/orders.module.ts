import { JwtAuthModule } from '@app/api';
import { Module } from '@nestjs/common';
import { OrdersController } from './orders.controller.js';
import { OrdersService } from './orders.service.js';

@Module({ imports: [JwtAuthModule], controllers: [OrdersController], providers: [OrdersService] })
export class OrdersModule {}
