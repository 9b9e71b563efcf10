import { Body, Controller, Get, Param, ParseIntPipe, Post } from '@nestjs/common';
import { IsInt, IsString, MaxLength } from 'class-validator';

class NewOrder {
  @IsInt()
  id!: number;

  @IsString()
  @MaxLength(20)
  item!: string;
}

/** Routes of the host, which a store in it must leave as they are. */
@Controller('orders')
export class OrdersController {
  @Post()
  create(@Body() order: NewOrder): NewOrder {
    return order;
  }

  /** What came of the body that was sent. */
  @Post('any')
  echo(@Body() body: unknown): unknown {
    return body;
  }

  @Get(':id')
  find(@Param('id', ParseIntPipe) id: number): { id: number } {
    return { id };
  }
}
