import { describe, expect, it } from '@jest/globals';

import { reasonOf } from './text.js';

describe(reasonOf.name, () => {
  it('should be the message of an error', () => {
    expect(reasonOf(new Error('role "plants" does not exist'))).toBe('role "plants" does not exist');
  });

  it('should name each different reason of several once', () => {
    const refused = new Error('connect ECONNREFUSED ::1:5432');
    const error = new AggregateError([refused, new Error('connect ETIMEDOUT 127.0.0.1:5432'), refused]);
    expect(reasonOf(error)).toBe('connect ECONNREFUSED ::1:5432; connect ETIMEDOUT 127.0.0.1:5432');
  });

  it('should be one line, without the call stack of the engine', () => {
    const error = new Error('connector error\nERROR: no such table\n   0: apply_script\n             at apply.rs:113');
    expect(reasonOf(error)).toBe('connector error ERROR: no such table');
  });

  it('should take what is no error', () => {
    expect(reasonOf('closed')).toBe('closed');
    expect(reasonOf(undefined)).toBe('undefined');
  });
});
