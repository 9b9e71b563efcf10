import { readFile } from 'node:fs/promises';

const PAGE = new URL('../../../docs/install.md', import.meta.url);

/** The SQL of docs/install.md that makes the roles and the database: what is to be run, and in which database. */
export async function installationSql(password: string): Promise<{ database: string; sql: string }[]> {
  const [, block = ''] = /^```sql\n(CREATE ROLE .*?)^```/ms.exec(await readFile(PAGE, 'utf8')) ?? [];
  const [roles = '', schema = ''] = block.replaceAll(/'change-me[^']*'/g, `'${password}'`).split('\\connect plants\n');
  // CREATE DATABASE does not run together with other statements.
  const statements = roles.split(/;\n/).filter((statement) => statement.trim() !== '');
  return [...statements.map((sql) => ({ database: 'postgres', sql })), { database: 'plants', sql: schema }];
}
