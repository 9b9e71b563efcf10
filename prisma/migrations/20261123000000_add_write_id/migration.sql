-- AlterTable
ALTER TABLE "access_tokens" ALTER COLUMN "id" SET DATA TYPE BIGINT;

-- AlterSequence
ALTER SEQUENCE "access_tokens_id_seq" AS BIGINT;

-- AlterTable: last, because creates wait for its lock until the end; it rewrites nothing
ALTER TABLE "plants" ADD COLUMN     "write_id" BIGINT;
