import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { endServer, originOf } from './local-server.js';

const DIST = new URL('../../dist/', import.meta.url);
const IMPORTS = { 'plant-store/client': '/dist/esm/client/index.js' };
const PAGE = `<!doctype html>
<link rel="icon" href="data:,">
<script type="importmap">${JSON.stringify({ imports: IMPORTS })}</script>`;

/** A web site with a page that can import the client as it is built, and nothing else of this package. */
export class ClientSite implements AsyncDisposable {
  private constructor(private readonly server: Server) {}

  static async start(): Promise<ClientSite> {
    const server = createServer(({ url = '/' }, response) => {
      if (url === '/') {
        response.setHeader('Content-Type', 'text/html').end(PAGE);
        return;
      }
      readFile(new URL(url.slice('/dist/'.length), DIST)).then(
        (script) => response.setHeader('Content-Type', 'text/javascript').end(script),
        () => response.writeHead(404).end(),
      );
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new ClientSite(server);
  }

  get origin(): string {
    return originOf(this.server);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return endServer(this.server);
  }
}
