import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { VARIABLES } from '../../src/service/environment.js';

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const page = read('docs/install.md');

describe('docs/install.md', () => {
  it('should install the version of the package, and the packages that the service asks for', () => {
    const { version } = JSON.parse(read('package.json')) as { version: string };
    expect(new Set(page.match(/\b\d+\.\d+\.\d+(?=\.tgz)/g))).toEqual(new Set([version]));
    expect(page).toContain(`release=/opt/plant-store/${version}\n`);
    const asked = read('src/service/cli/check.ts').match(/(?<=')[@\w/-]+@\d+(?=')/g) ?? [];
    expect(asked.length).toBeGreaterThan(2);
    for (const name of asked) expect(page).toContain(` ${name}`);
  });

  it('should name the files and the numbers of deploy/ as they are', () => {
    const unit = read('deploy/systemd/plant-store.service');
    const manifest = read('deploy/kubernetes/plant-store.yaml');
    expect(page).toContain(`\`TimeoutStopSec\` is ${/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1] ?? ''} seconds`);
    expect(page).toContain(`\`/readyz\` for up to ${/wait-until-ready\.mjs (\d+)$/m.exec(unit)?.[1] ?? ''} seconds`);
    expect(page).toContain(`exit code ${/^RestartPreventExitStatus=(\d+)$/m.exec(unit)?.[1] ?? ''} ends this`);
    for (const variable of ['DRAIN_DELAY', 'SHUTDOWN_TIMEOUT']) {
      const [, value] = new RegExp(`${variable}, value: '(\\d+)'`).exec(manifest) ?? [];
      expect(page).toContain(`\`${variable}\` is ${Number(value) / 1000} seconds`);
    }
    expect(page).toContain(`the management port, ${VARIABLES.MANAGEMENT_PORT[1]},`);
  });
});
