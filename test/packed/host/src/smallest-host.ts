import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { BearerAuthGuard, exemptPlantsFromBodyParser, Migrator, PlantsAuthModule, PlantsModule } from 'plant-store';

const { DATABASE_URL, ACCESS_TOKEN, PORT = '3000' } = process.env;
if (!DATABASE_URL || !ACCESS_TOKEN) throw new Error('Set DATABASE_URL and ACCESS_TOKEN.');
const database = { url: DATABASE_URL, schema: 'plants' };

@Module({
  imports: [
    PlantsModule.forRoot({
      database,
      guards: [BearerAuthGuard],
      imports: [PlantsAuthModule.forRoot({ accessTokens: [ACCESS_TOKEN] })],
    }),
  ],
})
class HostModule {}

async function main(): Promise<void> {
  await new Migrator(database).migrate();
  const app = await NestFactory.create(HostModule);
  exemptPlantsFromBodyParser(app);
  app.enableShutdownHooks([], { useProcessExit: true });
  await app.listen(PORT);
  console.log(`Listening on ${await app.getUrl()}`);
}

void main();
