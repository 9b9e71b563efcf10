import { PrismaService } from '@app/prisma';
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

const FIELDS = { number: true, plant: true, quantity: true } as const;

@Injectable()
export class OrdersService {
  constructor(private readonly prisma: PrismaService) {}

  place({ plant, quantity }: Omit<Order, 'number'>, customer: string): Promise<Order> {
    return this.prisma.order.create({ data: { plant, quantity, customer }, select: FIELDS });
  }

  of(customer: string): Promise<Order[]> {
    return this.prisma.order.findMany({ where: { customer }, select: FIELDS, orderBy: { number: 'asc' } });
  }
}
