import { Logger } from '@nestjs/common';
import { JwtService } from '@nestjs/jwt';
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createCatalogue } from '../../../dist/apps/catalogue/apps/catalogue/src/create-catalogue.js';

const JWT_SECRET = 'the-secret-of-this-test';
const FERN = { name: 'Dryopteris filix-mas', family: 'Dryopteridaceae' };

describe('the catalogue', () => {
  let app;
  let url;

  before(async () => {
    Logger.overrideLogger(['error', 'warn']);
    process.env.JWT_SECRET = JWT_SECRET;
    app = await createCatalogue();
    await app.listen(0, '127.0.0.1');
    url = `${await app.getUrl()}/api/v1/species`;
  });
  after(() => app.close());

  const add = (species, token) =>
    fetch(url, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...(token && { Authorization: `Bearer ${token}` }) },
      body: JSON.stringify(species),
    });

  it('should list its species to everybody', async () => {
    const response = await fetch(url);
    assert.deepEqual([response.status, (await response.json()).length], [200, 1]);
  });

  it('should let a user add one', async () => {
    const token = new JwtService({ secret: JWT_SECRET }).sign({ sub: 'ada' });
    assert.equal((await add(FERN, token)).status, 201);
    assert.deepEqual((await (await fetch(url)).json()).at(-1), FERN);
    const refusal = await add({ ...FERN, colour: 'green' }, token);
    assert.deepEqual((await refusal.json()).detail, ['property colour should not exist']);
  });

  it('should refuse all others', async () => {
    const refusal = await add(FERN);
    assert.equal(refusal.status, 401);
    assert.match(refusal.headers.get('content-type'), /^application\/problem\+json/);
  });
});
