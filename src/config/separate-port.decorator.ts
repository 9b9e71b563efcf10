import { Check } from './check.decorator.js';
import type { Environment } from '../app/config.js';

const EVERY_ADDRESS = ['0.0.0.0', '::'];

function hostsOverlap({ host, managementHost }: Environment): boolean {
  return host === managementHost || [host, managementHost].some((name) => EVERY_ADDRESS.includes(name));
}

/** Refuses the port of the public listener for the management listener, where the two would meet. */
export function SeparatePort(): PropertyDecorator {
  return Check('separatePort', (value, environment) =>
    value === environment.port && value !== 0 && hostsOverlap(environment)
      ? `is ${String(value)}, as PORT is, should be another port`
      : undefined,
  );
}
