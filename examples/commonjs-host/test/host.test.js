const assert = require('node:assert/strict');
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const { join } = require('node:path');
const { after, before, describe, it } = require('node:test');

const ACCESS_TOKEN = 'a-token-of-20-characters-or-more';

describe('the host', () => {
  let host;
  let url;

  // DATABASE_URL is the caller's.
  before(async () => {
    host = spawn(process.execPath, [join(__dirname, '../dist/main.js')], {
      env: { ...process.env, ACCESS_TOKEN, PORT: '0' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let output = '';
    for await (const text of host.stdout.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
      output += text;
      const port = /Listening on http:\/\/\S+:(\d+)/.exec(output)?.[1];
      if (port !== undefined) url = `http://127.0.0.1:${port}/plants`;
      if (url !== undefined) break;
    }
    host.stdout.resume();
    assert.ok(url, `The host did not start: ${output}`);
  });
  after(async () => {
    if (host.exitCode === null && host.kill()) await once(host, 'exit');
    assert.equal(host.exitCode, 0);
  });

  async function create(body, token = ACCESS_TOKEN) {
    const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
    const response = await fetch(url, { method: 'POST', headers, body });
    return { status: response.status, body: await response.json() };
  }

  it('should create a plant, with an id that JavaScript would round, and only once', async () => {
    const id = BigInt(Date.now()) * 1_000_000n + 1n;
    const body = `{"id": ${id}, "name": "Rose"}`;
    assert.deepEqual(await create(body), { status: 200, body: { name: 'Rose' } });
    assert.equal((await create(body)).body.error, 40901);
  });

  it('should ask for its token', async () => {
    assert.equal((await create('{"id": 1, "name": "Rose"}', 'another-token')).body.error, 40101);
  });
});
