import { createServer } from 'node:http';

/** The limit of one Node.js process: a request's body is read and sent back, and nothing else is done. */
createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    response.setHeader('Content-Type', 'application/json');
    response.end(Buffer.concat(chunks));
  });
}).listen(Number(process.env.PORT), '127.0.0.1');
