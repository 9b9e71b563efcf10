import type { TestDatabase } from './test-database.js';

/**
 * The catalogue of Citus, with its types, and functions that do nothing: enough for the store to send, in an ordinary database, what it
 * sends to a cluster. Superusers only.
 */
export async function createStandInCitus(database: TestDatabase): Promise<void> {
  await database.query(`SET allow_system_table_mods = on;
    SET search_path = pg_catalog;
    CREATE TYPE pg_catalog.noderole AS ENUM ('primary', 'secondary', 'unavailable');
    CREATE TABLE pg_catalog.pg_dist_partition (logicalrelid regclass, partmethod "char", partkey text, repmodel "char");
    CREATE TABLE pg_catalog.pg_dist_shard (logicalrelid regclass, shardid int8, shardminvalue text);
    CREATE TABLE pg_catalog.pg_dist_placement (shardid int8, shardstate int, groupid int);
    CREATE TABLE pg_catalog.pg_dist_node (nodeid int, groupid int, nodename text, nodeport int, noderole noderole,
      isactive bool, shouldhaveshards bool);
    GRANT SELECT ON pg_dist_partition, pg_dist_shard, pg_dist_placement, pg_dist_node TO PUBLIC;
    CREATE FUNCTION pg_catalog.run_command_on_all_nodes(command text, parallel bool DEFAULT true,
      give_warning_for_connection_errors bool DEFAULT false, OUT nodeid int, OUT success bool, OUT result text)
      RETURNS SETOF record LANGUAGE sql RETURN (1, true, 'on'::text);
    INSERT INTO pg_catalog.pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)
      VALUES (16000, 'citus', 10, 11, false, '13.2');
    INSERT INTO pg_dist_node VALUES (1, 0, 'coordinator', 5432, 'primary', true, false),
      (2, 1, 'one', 5432, 'primary', true, true), (3, 2, 'two', 5432, 'primary', true, true)`);
}

/** Makes the store take plants for a table of four shards on two nodes. */
export async function pretendDistribution(database: TestDatabase): Promise<void> {
  await database.query(`
    INSERT INTO pg_dist_partition VALUES ('plants', 'h', 'id', 's'), ('access_tokens', 'n', NULL, 't'),
      ('_prisma_migrations', 'n', NULL, 't');
    INSERT INTO pg_dist_shard
      SELECT 'plants', shard, (-2147483648 + shard::bigint * 1073741824)::text FROM generate_series(0, 3) AS shard;
    INSERT INTO pg_dist_placement SELECT shard, 1, 1 + shard % 2 FROM generate_series(0, 3) AS shard`);
}
