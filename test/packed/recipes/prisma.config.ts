import { defineConfig } from 'prisma/config';

export default defineConfig({
  schema: 'src/schema.prisma',
  experimental: { externalTables: true },
  tables: { external: ['plants.plants', 'plants.access_tokens', 'plants._prisma_migrations'] },
});
