import { describe, expect, it } from '@jest/globals';
import { resolve } from 'node:path';
import { ownCommand } from './summary.js';

describe(ownCommand.name, () => {
  it.each([
    ['npm start', 'dist/main.js', 'start', 'npm run --silent plant-store --'],
    ['npm run plant-store', 'dist/main.js', 'plant-store', 'npm run --silent plant-store --'],
    ['npx', 'node_modules/.bin/plant-store', 'npx', 'npx plant-store'],
    ['an installed command', '/usr/local/bin/plant-store', '', 'plant-store'],
    ['Node.js itself', 'dist/main.js', '', 'node dist/main.js'],
  ])('should be the one that works after a start by %s', (_, path, script, command) => {
    expect(ownCommand(resolve(path), script)).toBe(command);
  });
});
