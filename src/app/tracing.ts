import type { LoggerService } from '@nestjs/common';
import { nodeRequest } from '../http/platform.js';
import { PlantsController } from '../plants/plants.controller.js';
import type { RequestSpans, TracingSdk } from '../tracing/sdk.js';
import { isHttpUrl, quote } from '../util/text.js';
import { ConfigurationError } from './config-error.js';

const ENDPOINTS = ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT'];
const PROTOCOLS = ['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'OTEL_EXPORTER_OTLP_PROTOCOL'];
/** The next major versions need a newer Node.js than the service does. */
const PACKAGES = ['api@1.9', 'resources@2', 'sdk-trace-node@2', 'exporter-trace-otlp-proto@0.223'].map(
  (name) => `@opentelemetry/${name}`,
);

interface PreparedTracing {
  /** Where the spans go, without what may be secret. */
  endpoint: string;
  start: (route: string, shutdownTimeout: number, logger: LoggerService) => TracingSdk;
}

/**
 * Loads what sends traces, if OpenTelemetry's variables name an endpoint; otherwise nothing of it is loaded.
 *
 * @throws ConfigurationError
 */
export async function prepareTracing(): Promise<PreparedTracing | undefined> {
  const { env } = process;
  const isSet = (name: string): boolean => (env[name] ?? '').trim() !== '';
  const name = ENDPOINTS.find(isSet);
  const isOff = env.OTEL_SDK_DISABLED?.toLowerCase() === 'true' || env.OTEL_TRACES_EXPORTER === 'none';
  if (name === undefined || isOff) return undefined;
  const refuse = (fault: string, cause?: unknown): never => {
    throw new ConfigurationError([fault], { cause });
  };

  const url = env[name];
  if (!isHttpUrl(url, { query: true })) {
    const advice = 'credentials go into OTEL_EXPORTER_OTLP_HEADERS';
    return refuse(`${name}: cannot be used, should be a URL like http://localhost:4318; ${advice}`);
  }
  const protocol = PROTOCOLS.find(isSet);
  if (protocol && env[protocol] !== 'http/protobuf') {
    const right = "http/protobuf (the collector's port 4318), or left out";
    refuse(`${protocol}: is ${quote(env[protocol])}, should be ${right}`);
  }
  const fail = (cause: unknown): never => {
    const advice = `run "npm install ${PACKAGES.join(' ')}", or leave it out`;
    return refuse(`${name}: is set, but a package for traces is missing or of another version: ${advice}`, cause);
  };
  const { startSdk } = await import('../tracing/sdk.js').catch(fail);
  const endpoint = new URL(url).host;
  const start: PreparedTracing['start'] = (...rest) => {
    try {
      return startSdk(endpoint, ...rest);
    } catch (cause) {
      return fail(cause);
    }
  };
  return { endpoint, start };
}

/** For Nest's `instrument`: has each create run within the span of its request. */
export function traceCreates(requests: RequestSpans): (instance: unknown) => unknown {
  return (instance) => {
    if (instance instanceof PlantsController) {
      const createFor = instance.createFor.bind(instance);
      instance.createFor = (request, ...rest) =>
        requests.runWithin(nodeRequest(request), () => createFor(request, ...rest));
    }
    return instance;
  };
}
