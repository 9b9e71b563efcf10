import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { endServer, originOf } from '../http/local-server.js';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** A web site with a page that can import the client as it is built, and nothing else of the package that it is in. */
export class ClientSite implements AsyncDisposable {
  private constructor(private readonly server: Server) {}

  static async start(specifier = 'plant-store/client', packageFolder = ROOT): Promise<ClientSite> {
    const imports = { [specifier]: '/dist/esm/client/index.js' };
    const page = `<!doctype html>
<link rel="icon" href="data:,">
<script type="importmap">${JSON.stringify({ imports })}</script>`;
    const server = createServer(({ url = '/' }, response) => {
      if (url === '/') {
        response.setHeader('Content-Type', 'text/html').end(page);
        return;
      }
      readFile(join(packageFolder, 'dist', url.slice('/dist/'.length))).then(
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
