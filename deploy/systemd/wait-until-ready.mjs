// node wait-until-ready.mjs SECONDS
// Exits with 0 when /readyz is 200, and with 1 if that takes too long or the process MAINPID has ended.
import { get } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

const { MANAGEMENT_HOST: bound, MANAGEMENT_PORT: port, MAINPID: pid } = process.env;
const host = !bound || ['0.0.0.0', '::'].includes(bound) ? '127.0.0.1' : bound;
const seconds = Number(process.argv[2]);
const deadline = Date.now() + seconds * 1000;
let answer = 'there was no answer';

while (!(await isReady())) {
  if (Date.now() > deadline) fail(`not ready within ${seconds} s: ${answer}`);
  if (!isRunning()) fail('the service has ended; its log says why');
  await sleep(200);
}

function isReady() {
  return new Promise((resolve) => {
    get({ host, port: port || 9464, path: '/readyz', timeout: 4000 }, (response) => {
      response.setEncoding('utf8').once('data', (text) => {
        answer = text;
      });
      response.on('end', () => resolve(response.statusCode === 200));
    })
      .on('timeout', function () {
        this.destroy(new Error('no answer within 4 s'));
      })
      .on('error', ({ message }) => {
        answer = message;
        resolve(false);
      });
  });
}

function isRunning() {
  if (!pid) return true;
  try {
    return process.kill(Number(pid), 0);
  } catch ({ code }) {
    return code === 'EPERM';
  }
}

function fail(reason) {
  console.error(`plant-store: ${reason}`);
  process.exit(1);
}
