-- Spreads the tables of the plant store over the nodes of a Citus cluster: plants by its id, with a copy of the
-- others on each node.
-- Run it on the coordinator, as the owner of the tables, after plant-store migrate:
--
--   psql -v shards=32 -v schema=public -f deploy/citus/distribute.sql "$MIGRATION_DATABASE_URL"
--
-- It stops at the first error, and may be run again: what is done is skipped. Each table is one transaction, in which
-- creates wait.
\set ON_ERROR_STOP on
\set QUIET on
\if :{?shards}
\else
  \set shards 32
\endif
\if :{?schema}
\else
  \set schema public
\endif
\o /dev/null

-- psql puts no variables into a DO block.
SELECT set_config('plant_store.schema', :'schema', false), set_config('plant_store.shards', :'shards', false);
-- All functions below are those of PostgreSQL and Citus.
SET search_path = pg_catalog, pg_temp;

DO $$
DECLARE
  tables text := format('%I', current_setting('plant_store.schema'));
  plants regclass := to_regclass(tables || '.plants');
  shards int := current_setting('plant_store.shards')::int;
  found_column text;
  found_shards int;
  other regclass;
BEGIN
  IF NOT EXISTS (SELECT FROM pg_extension WHERE extname = 'citus') THEN
    RAISE EXCEPTION 'there is no Citus in this database' USING HINT = 'CREATE EXTENSION citus on each node.';
  ELSIF plants IS NULL
      OR to_regclass(tables || '.access_tokens') IS NULL
      OR to_regclass(tables || '._prisma_migrations') IS NULL THEN
    RAISE EXCEPTION 'schema % lacks the tables of the store', tables
      USING HINT = 'Run plant-store migrate, or name the schema: -v schema=NAME.';
  ELSIF (SELECT groupid FROM pg_dist_local_group) <> 0 THEN
    RAISE EXCEPTION 'this is a worker' USING HINT = 'Run it on the coordinator.';
  ELSIF NOT EXISTS (SELECT FROM pg_dist_node WHERE shouldhaveshards AND isactive AND noderole = 'primary') THEN
    RAISE EXCEPTION 'no node may hold shards' USING HINT = 'Add each worker: SELECT citus_add_node(''HOST'', 5432).';
  END IF;
  SELECT CASE WHEN partmethod = 'h' THEN column_to_column_name(logicalrelid, partkey) ELSE 'no column' END,
      (SELECT count(*) FROM pg_dist_shard AS shard WHERE shard.logicalrelid = part.logicalrelid)
    INTO found_column, found_shards FROM pg_dist_partition AS part WHERE logicalrelid = plants;
  IF found_column <> 'id' THEN
    RAISE EXCEPTION 'plants is distributed by %, should be by id', found_column
      USING HINT = format('SELECT undistribute_table(%L), and run this again.', plants);
  ELSIF found_shards <> shards THEN
    RAISE EXCEPTION 'plants has % shards already, not %', found_shards, shards
      USING HINT = format('SELECT alter_distributed_table(%L, shard_count := %s), while creates wait.', plants, shards);
  END IF;
  SELECT logicalrelid INTO other FROM pg_dist_partition
    WHERE logicalrelid IN (to_regclass(tables || '.access_tokens'), to_regclass(tables || '._prisma_migrations'))
      AND NOT (partmethod = 'n' AND repmodel = 't');
  IF other IS NOT NULL THEN
    RAISE EXCEPTION '% is distributed, should be a reference table', other
      USING HINT = format('SELECT undistribute_table(%L), and run this again.', other);
  END IF;
END $$;

SELECT format('%I.access_tokens', :'schema') AS access_tokens, format('%I._prisma_migrations', :'schema') AS migrations,
  format('%I.plants', :'schema') AS plants \gset
SELECT NOT EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = :'access_tokens'::regclass) AS copies_tokens,
  NOT EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = :'migrations'::regclass) AS copies_migrations,
  NOT EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = :'plants'::regclass) AS distributes_plants \gset

\if :copies_tokens
  BEGIN;
  SET LOCAL lock_timeout = '2s';
  LOCK TABLE :access_tokens IN ACCESS EXCLUSIVE MODE;
  SELECT create_reference_table(:'access_tokens');
  SELECT truncate_local_data_after_distributing_table(:'access_tokens');
  COMMIT;
  \echo copied :access_tokens to each node
\else
  \echo :access_tokens is on each node already
\endif

\if :copies_migrations
  BEGIN;
  SET LOCAL lock_timeout = '2s';
  LOCK TABLE :migrations IN ACCESS EXCLUSIVE MODE;
  SELECT create_reference_table(:'migrations');
  SELECT truncate_local_data_after_distributing_table(:'migrations');
  COMMIT;
  \echo copied :migrations to each node
\else
  \echo :migrations is on each node already
\endif

\if :distributes_plants
  BEGIN;
  SET LOCAL lock_timeout = '2s';
  -- Nobody writes to the old table meanwhile, so the rows that are removed from it are those that were copied.
  LOCK TABLE :plants IN ACCESS EXCLUSIVE MODE;
  SELECT create_distributed_table(:'plants', 'id', shard_count := :shards, colocate_with := 'none');
  SELECT truncate_local_data_after_distributing_table(:'plants');
  COMMIT;
  \echo distributed :plants over :shards shards
  \echo Restart each service that was started before CREATE EXTENSION citus.
\else
  \echo :plants is distributed over :shards shards already
\endif
