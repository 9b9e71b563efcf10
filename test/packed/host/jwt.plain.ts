import { Test } from '@nestjs/testing';
import { PlantsAuthModule } from 'plant-store';

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
const loadsModules = major > 24 || (major === 24 && minor >= 9);

it('should say at the start what reads JWTs, without the lines of the page', async () => {
  const jwt = { issuer: 'https://id.example.com', audience: 'plants' };
  const start = Test.createTestingModule({ imports: [PlantsAuthModule.forRoot({ jwt })] }).compile();
  const failure = await start.then(() => '', String);
  expect(failure).toMatch(loadsModules ? /^$/ : /jose.*Jest.*docs\/embedding\.md/);
});
