// Exits with 0 when the service in this container is ready. The answer becomes the health log of the container.
import { get } from 'node:http';

const WILDCARDS = ['0.0.0.0', '::'];
const { MANAGEMENT_HOST: bound, MANAGEMENT_PORT: port } = process.env;
const host = !bound || WILDCARDS.includes(bound) ? '127.0.0.1' : bound;

get({ host, port: port || 9464, path: '/readyz', timeout: 4000 }, (response) => {
  response.pipe(process.stdout);
  process.exitCode = response.statusCode === 200 ? 0 : 1;
})
  .on('timeout', function () {
    this.destroy(new Error('no answer within 4 s'));
  })
  .on('error', ({ message }) => {
    console.log(message);
    process.exitCode = 1;
  });
