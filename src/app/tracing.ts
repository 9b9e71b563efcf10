import type { LoggerService } from '@nestjs/common';
import type { TracingSdk } from '../tracing/sdk.js';
import { packageVersion } from '../util/package-files.cjs';
import { isHttpUrl, quote } from '../util/text.js';
import { ConfigurationError } from './config-error.js';
import type { Environment } from './config.js';

const ENDPOINTS = ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT'];
const PROTOCOLS = ['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'OTEL_EXPORTER_OTLP_PROTOCOL'];
const PACKAGES = ['api', 'resources', 'sdk-trace-node', 'exporter-trace-otlp-proto'].map(
  (name) => `@opentelemetry/${name}`,
);

/**
 * Starts what sends traces, if OpenTelemetry's variables name an endpoint; otherwise nothing of it is loaded.
 *
 * @throws ConfigurationError
 */
export async function startTracing(
  { basePath, shutdownTimeout }: Environment,
  logger: LoggerService,
): Promise<TracingSdk | undefined> {
  const { env } = process;
  const isSet = (name: string): boolean => (env[name] ?? '').trim() !== '';
  const [name] = ENDPOINTS.filter(isSet);
  const { OTEL_SDK_DISABLED: disabled, OTEL_TRACES_EXPORTER: exporter = '' } = env;
  if (name === undefined || disabled?.toLowerCase() === 'true' || exporter === 'none') return undefined;

  const url = env[name];
  const [protocol = ''] = PROTOCOLS.filter(isSet);
  const faults = [];
  if (!isHttpUrl(url, { query: true }))
    faults.push(
      `${name}: cannot be used, should be a URL like http://localhost:4318; credentials go into OTEL_EXPORTER_OTLP_HEADERS`,
    );
  if (protocol && env[protocol] !== 'http/protobuf')
    faults.push(
      `${protocol}: is ${quote(env[protocol])}, should be http/protobuf (the collector's port 4318), or left out`,
    );
  if (exporter && exporter !== 'otlp')
    faults.push(`OTEL_TRACES_EXPORTER: is ${quote(exporter)}, should be otlp or none`);
  if (faults.length > 0) throw new ConfigurationError(faults);

  const sdk = await import('../tracing/sdk.js').catch((cause: unknown) => {
    if (!String((cause as NodeJS.ErrnoException).code).endsWith('MODULE_NOT_FOUND')) throw cause;
    const fault = `${name}: is set, but a package for traces is missing: run "npm install ${PACKAGES.join(' ')}", or leave it out`;
    throw new ConfigurationError([fault], { cause });
  });
  const endpoint = new URL(String(url)).host;
  return new sdk.TracingSdk({
    version: packageVersion(),
    endpoint,
    route: `${basePath}/plants`,
    shutdownTimeout,
    logger,
  });
}
