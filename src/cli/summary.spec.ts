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
    const npm = script === '' ? {} : { npm_lifecycle_event: script, npm_package_name: 'plant-store' };
    expect(ownCommand(resolve(path), npm)).toBe(command);
  });

  it('should not be a script of an application that has the store in it', () => {
    const npm = { npm_lifecycle_event: 'serve', npm_package_name: 'garden' };
    expect(ownCommand(resolve('node_modules/.bin/plant-store'), npm)).toBe('plant-store');
  });
});
