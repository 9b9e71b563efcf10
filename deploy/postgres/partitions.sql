-- Splits the table plants by hash of the id into four partitions, as its owner: psql -f partitions.sql. Creates wait while it copies.
-- With two roles, add before COMMIT: GRANT SELECT, INSERT ON plants TO plants;
BEGIN;
ALTER TABLE plants RENAME TO plants_before;
ALTER TABLE plants_before RENAME CONSTRAINT plants_pkey TO plants_before_pkey;
CREATE TABLE plants (LIKE plants_before INCLUDING DEFAULTS, CONSTRAINT plants_pkey PRIMARY KEY (id)) PARTITION BY HASH (id);
CREATE TABLE plants_0 PARTITION OF plants FOR VALUES WITH (MODULUS 4, REMAINDER 0);
CREATE TABLE plants_1 PARTITION OF plants FOR VALUES WITH (MODULUS 4, REMAINDER 1);
CREATE TABLE plants_2 PARTITION OF plants FOR VALUES WITH (MODULUS 4, REMAINDER 2);
CREATE TABLE plants_3 PARTITION OF plants FOR VALUES WITH (MODULUS 4, REMAINDER 3);
INSERT INTO plants SELECT * FROM plants_before;
DROP TABLE plants_before;
COMMIT;
