import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { installedPackages } from '../support/documents/installed-packages.js';

/** Licences under which a package may be part of an MIT-licensed product. */
const ALLOWED = ['0BSD', 'Apache-2.0', 'BlueOak-1.0.0', 'BSD-2-Clause', 'BSD-3-Clause', 'ISC', 'MIT', 'Python-2.0'];

/** Packages that declare no licence in their package.json; where they have it instead. */
const ELSEWHERE: Record<string, string> = {
  'node_modules/pause': 'MIT', // Readme.md
};

interface Manifest {
  license?: string;
  /** As packages declared it before 2014. */
  licenses?: { type: string }[];
}

const read = (file: string): unknown => JSON.parse(readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8'));

/** Whether an SPDX expression leaves a choice that is allowed. */
function isAllowed(expression: string): boolean {
  const inner = expression.replace(/\(([^()]*)\)/g, (_, group: string) => (isAllowed(group) ? 'MIT' : 'refused'));
  if (inner !== expression) return isAllowed(inner);
  return expression.split(' OR ').some((all) => all.split(' AND ').every((one) => ALLOWED.includes(one.trim())));
}

function licenceOf(folder: string): string {
  const { license, licenses = [] } = read(`${folder}/package.json`) as Manifest;
  return license ?? (licenses.map(({ type }) => type).join(' OR ') || (ELSEWHERE[folder] ?? 'none'));
}

describe('What a host takes in', () => {
  it('should be 26 packages at most, in addition to the peers that a host of Nest has', async () => {
    const peers = await installedPackages('peers');
    const added = (await installedPackages('host')).filter((folder) => !peers.includes(folder));
    expect(added).toContain('node_modules/pg');
    // And the store itself.
    expect(added.length + 1).toBeLessThanOrEqual(26);
  });
});

describe('The licences of what production runs', () => {
  it('should be compatible with MIT', async () => {
    const installed = await installedPackages('service');
    const licences = installed.map((folder) => [folder, licenceOf(folder)] as const);
    expect(licences.length).toBeGreaterThan(100);
    expect(licences.filter(([, licence]) => !isAllowed(licence))).toEqual([]);
  });

  it.each([
    ['MIT', true],
    ['(MIT OR GPL-3.0-only)', true],
    ['MIT AND (GPL-2.0-only OR ISC)', true],
    ['MIT AND GPL-3.0-only', false],
    ['(MIT AND (GPL-2.0-only OR EPL-2.0)) OR EPL-2.0', false],
    ['Apache-2.0 WITH LLVM-exception', false],
    ['SEE LICENSE IN LICENSE', false],
    ['UNLICENSED', false],
    ['', false],
  ])('should be read as SPDX expressions: %s is allowed, %s', (expression, expected) => {
    expect(isAllowed(expression)).toBe(expected);
  });
});
