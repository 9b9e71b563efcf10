// Made of prisma/migrations: npm run prisma:list
export const MIGRATIONS = [
  {
    name: '20261121000000_create_plants',
    checksum: 'e728d83c240eb8edbe297ce468a8f2ea98ad9131e6b7ada5328ef99a3ca189f0',
    sql: `-- CreateTable
CREATE TABLE "plants" (
    "id" BIGINT NOT NULL,
    "name" TEXT NOT NULL,
    "tag" TEXT,
    "idempotency_key" TEXT,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "created_by" TEXT,
    "write_id" BIGINT,

    CONSTRAINT "plants_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "access_tokens" (
    "id" BIGSERIAL NOT NULL,
    "name" TEXT NOT NULL,
    "digest" BYTEA NOT NULL,
    "scopes" TEXT[],
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(6),
    "last_used_at" TIMESTAMPTZ(6),
    "revoked_at" TIMESTAMPTZ(6),

    CONSTRAINT "access_tokens_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE UNIQUE INDEX "access_tokens_digest_key" ON "access_tokens"("digest");

-- CreateIndex
CREATE INDEX "access_tokens_name_idx" ON "access_tokens"("name");
`,
  },
];
