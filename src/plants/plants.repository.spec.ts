import { afterEach, describe, expect, it, jest } from '@jest/globals';
import type { Database } from '../database/database.js';
import { Prisma } from '../database/generated/client.js';
import type { PrismaService } from '../database/prisma.service.js';
import { PlantsRepository } from './plants.repository.js';

const TIMEOUT = 60_000;
const PLANT = { id: 1n, name: 'Rose', tag: null, idempotencyKey: null };

const taken = new Prisma.PrismaClientKnownRequestError('', { code: 'P2002', clientVersion: '7' });

function repository(findUniqueOrThrow: () => Promise<unknown>): PlantsRepository {
  const plant = { create: () => Promise.reject(taken), findUniqueOrThrow };
  return new PlantsRepository({ plant } as unknown as PrismaService, { timeout: TIMEOUT } as Database);
}

describe(PlantsRepository.name, () => {
  afterEach(() => {
    jest.restoreAllMocks();
  });

  it('should find the plant that holds the id', async () => {
    await expect(repository(() => Promise.resolve(PLANT)).create(PLANT)).resolves.toEqual(PLANT);
  });

  it('should look for the plant that holds the id only as long as the write left of the time', async () => {
    jest.spyOn(performance, 'now').mockReturnValueOnce(0).mockReturnValueOnce(TIMEOUT);
    const silent = repository(() => new Promise(() => undefined));

    await expect(silent.create(PLANT)).rejects.toMatchObject({ error: 50300 });
  });
});
