import { Injectable } from '@nestjs/common';
import type { NewOrder, Order } from './orders.dto.js';

/** Orders, kept for as long as the process runs. */
@Injectable()
export class OrdersService {
  private readonly orders: (Order & { customer: string })[] = [];

  place({ plant, quantity }: NewOrder, customer: string): Order {
    const order = { number: this.orders.length + 1, plant, quantity };
    this.orders.push({ ...order, customer });
    return order;
  }

  of(customer: string): Order[] {
    return this.orders
      .filter((order) => order.customer === customer)
      .map(({ number, plant, quantity }) => ({ number, plant, quantity }));
  }
}
