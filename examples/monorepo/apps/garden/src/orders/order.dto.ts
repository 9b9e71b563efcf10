import { ApiProperty } from '@nestjs/swagger';
import { NewOrder } from './new-order.dto.js';

export class Order extends NewOrder {
  @ApiProperty({ type: 'integer' })
  number!: number;
}
