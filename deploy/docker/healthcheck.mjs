// Exits with 0 when the service in this container is ready. The answer becomes the health log of the container.
import { Agent, get } from 'node:http';

const { MANAGEMENT_HOST: bound = '', MANAGEMENT_PORT: port } = process.env;
const host = ['', '0.0.0.0', '::'].includes(bound) ? '127.0.0.1' : bound;
process.exitCode = 1;
// Not by the proxy of NODE_USE_ENV_PROXY, which the agent of Node.js would use.
const agent = new Agent();
const request = get({ agent, host, port: port || 9464, path: '/readyz', timeout: 4000 }, (response) => {
  response.pipe(process.stdout);
  if (response.statusCode === 200) process.exitCode = 0;
});
request.on('timeout', () => request.destroy(new Error('no answer within 4 s')));
request.on('error', ({ message }) => console.log(message));
