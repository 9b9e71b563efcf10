import { expect } from '@jest/globals';
import { freePort } from '../http/free-port.js';
import { PlantStoreProcess } from './process.js';

/** A service in a process of its own, always on the same ports, as a proxy has to know it. */
export class Instance implements AsyncDisposable {
  private service: PlantStoreProcess | undefined;

  private constructor(
    private readonly databaseUrl: string,
    readonly port: number,
    readonly managementPort: number,
  ) {}

  static async start(databaseUrl: string): Promise<Instance> {
    const instance = new Instance(databaseUrl, await freePort(), await freePort());
    await instance.start();
    return instance;
  }

  async start(): Promise<void> {
    this.service = await PlantStoreProcess.serve(this.databaseUrl, {
      PORT: String(this.port),
      MANAGEMENT_PORT: String(this.managementPort),
      DRAIN_DELAY: '2000',
    });
  }

  async restart(): Promise<void> {
    this.service?.signal('SIGTERM');
    expect(await this.service?.ended).toBe(0);
    await this.start();
  }

  async kill(): Promise<void> {
    await this.service?.[Symbol.asyncDispose]();
  }

  /** How many plants it has created since it started. */
  async created(): Promise<number> {
    const metrics = await (await fetch(`http://127.0.0.1:${this.managementPort}/metrics`)).text();
    return Number(/^plant_store_plants_created_total (\d+)$/m.exec(metrics)?.[1]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }
}
