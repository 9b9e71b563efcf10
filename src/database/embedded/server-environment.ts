/**
 * What PostgreSQL sees of our environment: neither our secrets, which its user could read, nor PG* variables meant for
 * other servers, and no language but the one in which its messages can be searched for.
 */
export function serverEnvironment(): NodeJS.ProcessEnv {
  const inherited = ['PATH', 'TZ', 'TMPDIR', 'TEMP', 'TMP', 'SystemRoot', 'LD_LIBRARY_PATH'];
  const pairs = inherited.map((name) => [name, process.env[name]] as const).filter(([, value]) => value !== undefined);
  return { ...Object.fromEntries(pairs), LC_ALL: 'C' };
}
