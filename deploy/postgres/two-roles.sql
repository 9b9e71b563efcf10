-- Gives a database with one role, plants, a second one that owns it. docs/operations.md has the command.
\set owner `cat /run/plant-store-owner/database-password`
CREATE ROLE plants_owner LOGIN PASSWORD :'owner';
REASSIGN OWNED BY plants TO plants_owner;
GRANT SELECT, INSERT ON plants TO plants;
GRANT SELECT, INSERT, UPDATE ON access_tokens TO plants;
GRANT USAGE ON SEQUENCE access_tokens_id_seq TO plants;
GRANT SELECT ON _prisma_migrations TO plants;
