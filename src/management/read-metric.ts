import { Counter, Gauge, type Registry } from 'prom-client';

/** A number that counts up, kept elsewhere, and read when the metrics are asked for. */
export function readCounter(registry: Registry, name: string, help: string, read: () => number): void {
  new Counter({
    name,
    help,
    registers: [registry],
    collect() {
      this.reset();
      this.inc(read());
    },
  });
}

/** The same of several numbers, each with a label. */
export function readCounters(
  registry: Registry,
  name: string,
  help: string,
  label: string,
  read: () => ReadonlyMap<string, number>,
): void {
  new Counter({
    name,
    help,
    labelNames: [label],
    registers: [registry],
    collect() {
      this.reset();
      for (const [value, count] of read()) this.inc({ [label]: value }, count);
    },
  });
}

/** The same of a number that goes up and down. */
export function readGauge(registry: Registry, name: string, help: string, read: () => number): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    collect() {
      this.set(read());
    },
  });
}
