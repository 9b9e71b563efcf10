import { describe, expect, it } from '@jest/globals';
import type { Deployment } from 'kubernetes-types/apps/v1.js';
import type { Container, EnvVar, Service } from 'kubernetes-types/core/v1.js';
import type { PodDisruptionBudget } from 'kubernetes-types/policy/v1.js';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { parseAllDocuments } from 'yaml';
import { readEnvironment, VARIABLES } from '../../src/service/environment.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const read = (path: string): string => readFileSync(`${ROOT}${path}`, 'utf8');
const documents = parseAllDocuments(read('deploy/kubernetes/plant-store.yaml'));
const objects = documents.map((document) => document.toJS() as unknown);
const [deployment, service, budget] = objects as [Deployment, Service, PodDisruptionBudget];
const pod = deployment.spec?.template.spec;
const [migrate] = pod?.initContainers ?? [];
const [store] = pod?.containers ?? [];
const containers = [migrate, store].filter((container) => container !== undefined);

/** Where the types of a version of the API are. */
const TYPES: Record<string, string> = { v1: 'core/v1', 'apps/v1': 'apps/v1', 'policy/v1': 'policy/v1' };

/** What is wrong with objects, by Kubernetes' own types: unknown fields, missing ones, and values of a wrong type. */
function faultsOf(given: readonly unknown[]): string[] {
  const lines = given.map((object, index) => {
    const { apiVersion = '', kind = '' } = object as { apiVersion?: string; kind?: string };
    const type = `import('kubernetes-types/${TYPES[apiVersion] ?? 'unknown'}').${kind}`;
    return `export const object${index}: ${type} = ${JSON.stringify(object)};`;
  });
  const name = `${ROOT}test/deployment/manifest.ts`;
  const options = {
    strict: true,
    noEmit: true,
    types: [],
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
  };
  const host = ts.createCompilerHost(options);
  const [getSourceFile, fileExists] = [host.getSourceFile.bind(host), host.fileExists.bind(host)];
  host.fileExists = (path) => path === name || fileExists(path);
  host.getSourceFile = (path, target, ...rest) =>
    path === name ? ts.createSourceFile(path, lines.join('\n'), target) : getSourceFile(path, target, ...rest);
  const program = ts.createProgram([name], options, host);
  return ts.getPreEmitDiagnostics(program).map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' '));
}

/** The environment of a container that has a value for each variable; `_FILE` names a file that a test cannot have. */
function environmentOf({ env = [] }: Container): Record<string, string> {
  const entries = env.map(({ name, value = '' }: EnvVar) => (name.endsWith('_FILE') ? [] : [[name, value]]));
  return Object.fromEntries(entries.flat()) as Record<string, string>;
}

describe('deploy/kubernetes/plant-store.yaml', () => {
  it('should be objects that Kubernetes knows, without a field that it does not', () => {
    expect(documents.flatMap(({ errors, warnings }) => [...errors, ...warnings])).toEqual([]);
    expect(objects.map((object) => (object as Deployment).kind)).toEqual([
      'Deployment',
      'Service',
      'PodDisruptionBudget',
    ]);
    expect(faultsOf(objects)).toEqual([]);
  });

  it('should have one set of labels, by which all find the pods', () => {
    const labels = { 'app.kubernetes.io/name': 'plant-store' };
    expect([
      deployment.spec?.selector.matchLabels,
      deployment.spec?.template.metadata?.labels,
      service.spec?.selector,
      budget.spec?.selector?.matchLabels,
    ]).toEqual([labels, labels, labels, labels]);
  });

  it('should have the version of the package, and run what the image has', () => {
    const { version } = JSON.parse(read('package.json')) as { version: string };
    expect(containers.map(({ image }) => image)).toEqual(Array(2).fill(`registry.example.com/plant-store:${version}`));
    expect(migrate?.args).toEqual(['plant-store', 'migrate']);
    // The image's own command, with its flag for memory.
    expect([store?.command, store?.args]).toEqual([undefined, undefined]);
    expect(read('Dockerfile')).toContain(
      `USER ${pod?.securityContext?.runAsUser ?? ''}:${pod?.securityContext?.runAsGroup ?? ''}\n`,
    );
  });

  it('should set variables that the service takes, with values that it takes', () => {
    for (const container of containers) {
      expect(readEnvironment({ NODE_ENV: 'production', ...environmentOf(container) }).faults).toEqual([]);
      const known = Object.keys(VARIABLES).flatMap((name) => [name, `${name}_FILE`]);
      expect(container.env?.map(({ name }) => name).filter((name) => !known.includes(name))).toEqual([]);
    }
  });

  it('should take passwords from files, and show that of the owner to migrate alone', () => {
    expect(read('deploy/kubernetes/plant-store.yaml')).not.toMatch(/:\/\/[^/\s]*:[^/\s]*@/);
    const mounted = containers.map(({ env = [], volumeMounts = [] }) =>
      volumeMounts.map(({ name, mountPath }) => [
        name,
        pod?.volumes?.find((volume) => volume.name === name)?.secret?.secretName,
        env.find(({ value = '' }) => value.startsWith(mountPath))?.name,
      ]),
    );
    expect(mounted).toEqual([
      [['owner', 'plant-store-owner', 'MIGRATION_DATABASE_PASSWORD_FILE']],
      [['database', 'plant-store', 'DATABASE_PASSWORD_FILE']],
    ]);
  });

  it('should leave each step of a stop the time that it takes', () => {
    const { environment } = readEnvironment(store ? environmentOf(store) : {});
    const { DRAIN_DELAY, STORAGE_TIMEOUT, SHUTDOWN_TIMEOUT } = environment;
    expect(DRAIN_DELAY).toBeGreaterThan(0);
    expect(SHUTDOWN_TIMEOUT).toBeGreaterThan(DRAIN_DELAY + STORAGE_TIMEOUT);
    expect((pod?.terminationGracePeriodSeconds ?? 0) * 1000).toBeGreaterThanOrEqual(SHUTDOWN_TIMEOUT + 5000);
  });

  it('should probe the management listener', () => {
    const management = store?.ports?.find(({ name }) => name === 'management');
    expect(management?.containerPort).toBe(Number(VARIABLES.MANAGEMENT_PORT[1]));
    const { startupProbe, livenessProbe, readinessProbe } = store ?? {};
    expect([startupProbe, livenessProbe, readinessProbe].map((probe) => probe?.httpGet)).toEqual([
      { path: '/livez', port: 'management' },
      { path: '/livez', port: 'management' },
      { path: '/readyz', port: 'management' },
    ]);
    expect(service.spec?.ports).toEqual([{ name: 'http', port: 80, targetPort: 'http' }]);
  });
});
