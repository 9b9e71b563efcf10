import { describe, expect, it } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { generateOpenApi } from '../support/documents/openapi.js';

const FILE = new URL('../../openapi.json', import.meta.url);

describe('openapi.json', () => {
  // The name is what a failure says.
  it('should be what the code generates: if it is not, run "npm run build && npm run openapi"', async () => {
    const committed = await readFile(FILE, 'utf8');
    expect(committed).toBe(`${JSON.stringify(await generateOpenApi(), undefined, 2)}\n`);
  });
});
