import { JwtAuthGuard, UserName } from '@app/api';
import { Body, Controller, Get, Post, UseGuards } from '@nestjs/common';
import { ApiBearerAuth, ApiCreatedResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { NewOrder, Order } from './orders.dto.js';
import { OrdersService } from './orders.service.js';

@Controller('orders')
@UseGuards(JwtAuthGuard)
@ApiBearerAuth('jwt')
@ApiTags('Orders')
export class OrdersController {
  constructor(private readonly orders: OrdersService) {}

  @Post()
  @ApiCreatedResponse({ type: Order })
  place(@Body() order: NewOrder, @UserName() customer: string): Order {
    return this.orders.place(order, customer);
  }

  @Get()
  @ApiOkResponse({ type: [Order] })
  list(@UserName() customer: string): Order[] {
    return this.orders.of(customer);
  }
}
