// Loaded before a command: makes it that of a newer build, with one more migration. If KILL_AT is set, it ends as by kill -9 when it has
// sent as many statements.
const { setImmediate } = require('node:timers');
const pg = require('pg');
const { MIGRATIONS } = require('../../dist/prisma/migrations.js');

MIGRATIONS.push({
  name: '29990101000000_add_height',
  checksum: 'none',
  sql: 'ALTER TABLE "plants" ADD COLUMN "height" INTEGER;',
});
const { query } = pg.Client.prototype;
let left = Number(process.env.KILL_AT ?? Infinity);
pg.Client.prototype.query = function (...values) {
  const result = query.apply(this, values);
  if (--left === 0) setImmediate(() => process.kill(process.pid, 'SIGKILL'));
  return result;
};
