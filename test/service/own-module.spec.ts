import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Body, Controller, Get, Module, Param, ParseIntPipe, Post, type Type } from '@nestjs/common';
import { ApiProperty, type OpenAPIObject } from '@nestjs/swagger';
import { IsInt, IsOptional, IsString, Min } from 'class-validator';
import { AppModule } from '../../src/app.module.js';
import { Public, RequireScopes } from '../../src/auth/scopes.js';
import { expectRefusal, type RawResponse, requestHead, type RequestHeaders } from '../support/http/request.js';
import { startStore, type Store } from '../support/service/store.js';

// A module as `nest g resource orders` makes it, with fields in its DTO.

class CreateOrderDto {
  @ApiProperty({ example: 1 })
  @IsInt()
  @Min(1)
  plant!: number;

  @ApiProperty({ required: false })
  @IsOptional()
  @IsString()
  note?: string;
}

@Controller('own-orders')
class OrdersController {
  @Post()
  create(@Body() order: CreateOrderDto): object {
    return { order, isDto: order instanceof CreateOrderDto };
  }

  @Get(':id')
  @Public()
  find(@Param('id', ParseIntPipe) id: number): object {
    return { id };
  }

  @Get()
  @RequireScopes('own-orders:read')
  list(): object[] {
    return [];
  }
}

@Module({ controllers: [OrdersController] })
class OrdersModule {}

@Module({ imports: [AppModule, OrdersModule] })
class StoreFirst {}

@Module({ imports: [OrdersModule, AppModule] })
class StoreLast {}

describe.each<[string, Type, string]>([
  ['behind the store', StoreFirst, ''],
  ['before the store, with a prefix', StoreLast, '/api/v1'],
])('a module of a developer, in the list of modules %s', (_, module, BASE_PATH) => {
  let store: Store;

  beforeAll(async () => {
    store = await startStore({ BASE_PATH }, undefined, module);
  });
  afterAll(() => store.stop());

  const send = (method: string, path: string, body = '', headers: RequestHeaders = {}): Promise<RawResponse> => {
    const length = String(Buffer.byteLength(body));
    const fields = { 'Content-Type': 'application/json', 'Content-Length': length, ...headers };
    return store.raw(requestHead(`${method} ${BASE_PATH}${path} HTTP/1.1`, fields) + body);
  };
  const refused = async (response: Promise<RawResponse>, error: number): Promise<string> =>
    expectRefusal(await response, error, 'contract');

  it('should get its body as its DTO, also with a query', async () => {
    for (const path of ['/own-orders', '/own-orders?x=1'])
      expect(JSON.parse((await send('POST', path, '{"plant":5,"note":"soon"}')).body)).toEqual({
        order: { plant: 5, note: 'soon' },
        isDto: true,
      });
  });

  it('should have its faults answered with the words of the pipe and of the parser', async () => {
    const fault = await refused(send('POST', '/own-orders', '{"plant":"x","note":1}'), 40010);
    expect(fault).toBe('plant must not be less than 1; plant must be an integer number; note must be a string');
    expect(await refused(send('POST', '/own-orders', '{"plant":'), 40002)).toMatch(/JSON/);
    await refused(send('POST', '/own-orders', `"${'x'.repeat(200_000)}"`), 41300);
    await refused(send('GET', '/own-orders/x'), 40010);
  });

  it('should stand behind the guard, ask for other scopes, and be open, each by one decorator', async () => {
    const nobody = { Authorization: undefined };
    await refused(send('POST', '/own-orders', '{"plant":5}', nobody), 40100);
    await refused(send('GET', '/own-orders'), 40300);
    expect(JSON.parse((await send('GET', '/own-orders/7', '', nobody)).body)).toEqual({ id: 7 });
  });

  it('should leave the route of the store as it is', async () => {
    // No parser of JSON has rounded it.
    const id = '9007199254740993';
    expect((await store.post(`{"id":${id},"name":" Rose "}`)).body).toBe('{"name":" Rose "}');
    expect(await store.database.query('SELECT id FROM plants')).toEqual([{ id }]);
    // The credential comes before the body.
    await refused(send('POST', '/plants', '{', { Authorization: undefined }), 40100);
    await refused(send('POST', '/plants?x=1', '{'), 40002);
    expect((await send('PUT', '/plants')).headers.allow).toBe('POST');
    // It repeats no query, which may hold a secret.
    expect(await refused(send('GET', '/trees?secret'), 40400)).toBe(`Cannot GET ${BASE_PATH}/trees`);
  });

  it('should be in the document', async () => {
    const answer = await fetch(`http://127.0.0.1:${store.port}/openapi.json`);
    const document = (await answer.json()) as OpenAPIObject;
    expect(Object.keys(document.paths).sort()).toEqual(['/own-orders', '/own-orders/{id}', '/plants']);
    expect(document.paths['/own-orders']?.post).toMatchObject({ operationId: 'OrdersController_create' });
    expect(document.paths['/own-orders/{id}']?.get?.security).toEqual([{}]);
    expect(document.paths['/plants']?.post).toMatchObject({ operationId: 'createPlant' });
    expect(document.components?.schemas).toMatchObject({ CreateOrderDto: { required: ['plant'] } });
  });
});
