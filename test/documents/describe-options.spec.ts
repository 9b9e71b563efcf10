import { describe, expect, it } from '@jest/globals';
import { AuthSettings } from '../../src/auth/auth.options.js';
import { MigratorSettings } from '../../src/database/migrations/migrator.options.js';
import { PlantsExtras, PlantsSettings } from '../../src/plants/plants.options.js';
import { describeOptions } from '../support/documents/describe-options.js';

describe(describeOptions.name, () => {
  it.each([PlantsSettings, PlantsExtras, AuthSettings, MigratorSettings])(
    'should have a line of documentation for every option of $name',
    (Options) => {
      const options = describeOptions(Options);
      expect(options).not.toEqual([]);
      for (const option of options) expect(option).toMatchObject({ about: expect.stringMatching(/^[A-Z].+\.$/) });
    },
  );

  it('should have the defaults, of inherited options too', () => {
    expect(describeOptions(MigratorSettings)).toContainEqual({
      name: 'password',
      default: '',
      about:
        'The password, not encoded, if the URL has none, or a function that returns it, called for each connection.',
    });
    expect(describeOptions(PlantsSettings).map((option) => [option.name, option.default])).toEqual([
      ['database', ''],
      ['bodyLimit', '1048576'],
      ['writeQueueLimit', '10000'],
      ['createdBy', ''],
      ['onCreated', ''],
    ]);
  });
});
