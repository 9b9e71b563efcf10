import { freePort } from './free-port.js';
import { type ProcessOptions, PlantStoreProcess } from './process.js';
import { workersOf } from './worker-processes.js';

/** A service of two workers, and its management listener. */
export class WorkersService implements AsyncDisposable {
  private constructor(
    readonly process: PlantStoreProcess,
    private readonly managementPort: number,
  ) {}

  static async start(
    databaseUrl: string,
    variables: Record<string, string> = {},
    options: ProcessOptions = {},
  ): Promise<WorkersService> {
    const managementPort = await freePort();
    const own = { WORKERS: '2', MANAGEMENT_PORT: String(managementPort) };
    return new WorkersService(
      await PlantStoreProcess.serve(databaseUrl, { ...own, ...variables }, options),
      managementPort,
    );
  }

  get port(): number {
    return this.process.port;
  }

  workers(): Promise<number[]> {
    return workersOf(this.process);
  }

  /** What was logged so far with this text. */
  logged(text: string | RegExp): Record<string, unknown>[] {
    return this.process.log.filter(({ message }) =>
      typeof text === 'string' ? String(message).includes(text) : text.test(String(message)),
    );
  }

  async managed(path: string): Promise<[number, unknown]> {
    const response = await this.ask(path);
    return [response.status, await response.json()];
  }

  /** The values of the page of metrics, by name and labels as they stand there. */
  async metrics(): Promise<Map<string, number>> {
    const page = await (await this.ask('/metrics')).text();
    const samples = page.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    return new Map(
      samples.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const workers = await this.workers();
    await this.process[Symbol.asyncDispose]();
    // Those that can't end by themselves any more.
    for (const worker of workers) {
      try {
        process.kill(worker, 'SIGKILL');
      } catch {
        // It has ended.
      }
    }
  }

  private ask(path: string): Promise<Response> {
    return fetch(`http://127.0.0.1:${this.managementPort}${path}`);
  }
}
