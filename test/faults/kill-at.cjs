// Loaded before a command: ends its process, as kill -9 does, when it has sent as many statements as KILL_AT says.
const { setImmediate } = require('node:timers');
const pg = require('pg');

const { query } = pg.Client.prototype;
let left = Number(process.env.KILL_AT);
pg.Client.prototype.query = function (...values) {
  const result = query.apply(this, values);
  if (--left === 0) setImmediate(() => process.kill(process.pid, 'SIGKILL'));
  return result;
};
