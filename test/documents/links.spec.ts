import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brokenLinks } from '../support/documents/links.js';

describe(brokenLinks.name, () => {
  let root: string;

  beforeAll(() => {
    root = mkdtempSync(join(tmpdir(), 'plant-store-links-'));
    mkdirSync(join(root, 'docs'));
    writeFileSync(
      join(root, 'docs/page.md'),
      '# A page\n\n<a id="alert"></a>\n\n## 1. What, then?\n\n```sh\n# no heading\n```\n',
    );
  });
  afterAll(() => {
    rmSync(root, { recursive: true });
  });

  it.each([
    ['[a](docs/page.md)', []],
    ['[a](docs/page.md#1-what-then)', []],
    ['[a](docs/page.md#alert)', []],
    ['[a](#here) ![b](docs)', []],
    ['[a](https://example.com/x#y)', []],
    ['```md\n[a](nowhere.md)\n```', []],
    ['[a](docs/pages.md)', ['README.md ](docs/pages.md)']],
    ['![a](docs/picture.png)', ['README.md ](docs/picture.png)']],
    ['[a](docs/page.md#no-heading)', ['README.md ](docs/page.md#no-heading)']],
    ['[a](#there)', ['README.md ](#there)']],
    ['[a](../elsewhere.md)', ['README.md ](../elsewhere.md)']],
  ])('should find those of %j: %j', (text, broken) => {
    writeFileSync(join(root, 'README.md'), `# Here\n\n${text}\n`);
    expect(brokenLinks(root, 'README.md')).toEqual(broken);
  });
});
