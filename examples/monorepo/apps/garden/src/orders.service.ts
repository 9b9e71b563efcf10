import { Injectable } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';

export class Order {
  @ApiProperty({ type: 'integer' })
  number!: number;

  @ApiProperty()
  plant!: string;

  @ApiProperty({ type: 'integer', minimum: 1 })
  quantity!: number;
}

/** Orders, kept for as long as the process runs. */
@Injectable()
export class OrdersService {
  private readonly orders: { customer: string; order: Order }[] = [];

  place({ plant, quantity }: Omit<Order, 'number'>, customer: string): Order {
    const order = { number: this.orders.length + 1, plant, quantity };
    this.orders.push({ customer, order });
    return order;
  }

  of(customer: string): Order[] {
    return this.orders.filter((placed) => placed.customer === customer).map(({ order }) => order);
  }
}
