import { All, Body, Controller, Get, Header, Logger, Param, ParseIntPipe, Post, Query, Redirect } from '@nestjs/common';
import { HostStorage } from './host-storage.js';
import { NewOrder } from './new-order.dto.js';

/** Routes on a host's own tables. */
@Controller('orders')
export class OrdersController {
  private readonly logger = new Logger(OrdersController.name);

  constructor(private readonly storage: HostStorage) {}

  @Get()
  async find(@Query('item') item?: string): Promise<unknown> {
    const orders = await this.storage.prisma.order.findMany();
    return orders.map((order) => ({ ...order, id: String(order.id), item: item ?? order.item }));
  }

  /** Without an answer in JSON, unless something taught bigint to be one. */
  @Get('as-they-are')
  findAsTheyAre(): Promise<unknown> {
    return this.storage.prisma.order.findMany();
  }

  @Get('by-sql')
  async findBySql(): Promise<unknown> {
    const { rows } = await this.storage.pool.query(
      'SELECT *, 1.5::numeric AS n, current_date - 1 < now() AS b FROM orders',
    );
    return rows;
  }

  @Get('old')
  @Redirect('/api/v1/orders', 308)
  redirect(): void {
    return;
  }

  @All('by-any-method')
  findByAnyMethod(): object {
    return { orders: [] };
  }

  @Get(':id')
  @Header('Cache-Control', 'max-age=60')
  findOne(@Param('id', ParseIntPipe) id: number): { id: number; type: string } {
    return { id, type: typeof id };
  }

  @Post()
  async create(@Body() { id, item, address }: NewOrder): Promise<unknown> {
    this.logger.log(`order ${id}`, { address: address?.constructor.name });
    const placedAt = new Date(0);
    const order = await this.storage.prisma.order.create({ data: { id: BigInt(id), item, placedAt } });
    return { ...order, id: String(order.id) };
  }
}
