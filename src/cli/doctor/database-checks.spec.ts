import { describe, expect, it } from '@jest/globals';
import { parseDatabaseUrl } from '../../database/database-url.js';
import { checkServer } from './database-checks.js';

const SERVER = {
  version: '17.2',
  major: 17,
  isReadOnly: false,
  synchronousCommit: 'on',
  fsync: 'on',
  fullPageWrites: 'on',
  room: 97,
  now: 1_000_500,
};
const DATABASE = parseDatabaseUrl('postgresql://plants@db/plants');
const POOLED = parseDatabaseUrl('postgresql://plants@db/plants?pgbouncer=true');
const CONNECTIONS = 11;
/** A round trip of a second: the server read its clock in the middle. */
const TIMES = [1_000_000, 1_001_000] as const;

describe(checkServer.name, () => {
  it('should find nothing wrong with a server that is well', () => {
    const findings = checkServer(SERVER, DATABASE, CONNECTIONS, TIMES);
    expect(findings.filter(({ state }) => state !== 'ok')).toEqual([]);
    expect(findings.find(({ check }) => check === 'clock')?.found).toBe(
      '0 ms ahead of this machine, give or take 500 ms',
    );
  });

  it.each([
    ['version', 'warning', { version: '14.9', major: 14 }],
    ['writable', 'fault', { isReadOnly: true }],
    ['fsync', 'fault', { fsync: 'off' }],
    ['full_page_writes', 'warning', { fullPageWrites: 'off' }],
    ['connections', 'fault', { room: 10 }],
    ['clock', 'warning', { now: 1_000_500 + 2501 }],
    ['clock', 'warning', { now: 1_000_500 - 2501 }],
  ])('should report the %s as a %s if it has %j', (check, state, others) => {
    const findings = checkServer({ ...SERVER, ...others }, DATABASE, CONNECTIONS, TIMES);
    expect(findings.filter((one) => one.state !== 'ok')).toEqual([
      { check, state, found: expect.any(String) as unknown, advice: expect.stringMatching(/\.$/) as unknown },
    ]);
  });

  it.each([
    ['an engine without some settings', { fsync: null, fullPageWrites: null, synchronousCommit: null }, DATABASE],
    ['a clock that may be right, as the answer took long', { now: 1_000_500 + 2500 }, DATABASE],
    ['few sessions behind a pooler, which shares them', { room: 5 }, POOLED],
    ['commits that do not wait, as each create waits by itself', { synchronousCommit: 'off' }, DATABASE],
  ])('should not complain of %s', (_, others, database) => {
    const findings = checkServer({ ...SERVER, ...others }, database, CONNECTIONS, TIMES);
    expect(findings.filter(({ state }) => state !== 'ok')).toEqual([]);
  });

  it('should say what a create waits for if the server does not by default', () => {
    const findings = checkServer({ ...SERVER, synchronousCommit: 'off' }, DATABASE, CONNECTIONS, TIMES);
    expect(findings.find(({ check }) => check === 'synchronous_commit')?.found).toMatch(/^off, but on for creates/);
  });
});
