// Made of prisma/migrations: npm run prisma:list
export const MIGRATIONS = [
  {
    name: '20261121000000_create_plants',
    checksum: 'e728d83c240eb8edbe297ce468a8f2ea98ad9131e6b7ada5328ef99a3ca189f0',
    sql: '-- CreateTable\nCREATE TABLE "plants" (\n    "id" BIGINT NOT NULL,\n    "name" TEXT NOT NULL,\n    "tag" TEXT,\n    "idempotency_key" TEXT,\n    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,\n    "created_by" TEXT,\n    "write_id" BIGINT,\n\n    CONSTRAINT "plants_pkey" PRIMARY KEY ("id")\n);\n\n-- CreateTable\nCREATE TABLE "access_tokens" (\n    "id" BIGSERIAL NOT NULL,\n    "name" TEXT NOT NULL,\n    "digest" BYTEA NOT NULL,\n    "scopes" TEXT[],\n    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,\n    "expires_at" TIMESTAMPTZ(6),\n    "last_used_at" TIMESTAMPTZ(6),\n    "revoked_at" TIMESTAMPTZ(6),\n\n    CONSTRAINT "access_tokens_pkey" PRIMARY KEY ("id")\n);\n\n-- CreateIndex\nCREATE UNIQUE INDEX "access_tokens_digest_key" ON "access_tokens"("digest");\n\n-- CreateIndex\nCREATE INDEX "access_tokens_name_idx" ON "access_tokens"("name");\n',
  },
];
