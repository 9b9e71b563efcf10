import { JwtAuthGuard, UserName } from '@app/auth';
import { Body, Controller, Get, Post, UseGuards } from '@nestjs/common';
import { ApiBearerAuth, ApiCreatedResponse, ApiOkResponse, ApiProperty, ApiTags } from '@nestjs/swagger';
import { IsInt, IsNotEmpty, IsString, Min } from 'class-validator';
import { Order, OrdersService } from './orders.service.js';

export class NewOrder {
  @ApiProperty()
  @IsString()
  @IsNotEmpty()
  plant!: string;

  @ApiProperty({ type: 'integer', minimum: 1 })
  @IsInt()
  @Min(1)
  quantity!: number;
}

@Controller('orders')
@UseGuards(JwtAuthGuard)
@ApiBearerAuth('jwt')
@ApiTags('Orders')
export class OrdersController {
  constructor(private readonly orders: OrdersService) {}

  @Post()
  @ApiCreatedResponse({ type: Order })
  place(@Body() order: NewOrder, @UserName() customer: string): Promise<Order> {
    return this.orders.place(order, customer);
  }

  @Get()
  @ApiOkResponse({ type: [Order] })
  list(@UserName() customer: string): Promise<Order[]> {
    return this.orders.of(customer);
  }
}
