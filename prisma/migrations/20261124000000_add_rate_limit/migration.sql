-- AlterTable
ALTER TABLE "access_tokens" ADD COLUMN     "requests_per_minute" INTEGER;
