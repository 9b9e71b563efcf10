import { describe, expect, it } from '@jest/globals';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { HeldBodies } from './body-bytes.js';
import { TooManyBodiesError } from './http.errors.js';

const MEBIBYTE = 1_048_576;

describe(HeldBodies.name, () => {
  const response = (): ServerResponse => new ServerResponse(new IncomingMessage(new Socket()));

  it('should refuse what is too much together, until one of them is answered', () => {
    const held = new HeldBodies();
    const first = response();
    held.hold(200 * MEBIBYTE, first);
    held.hold(56 * MEBIBYTE, response());
    expect(() => {
      held.hold(MEBIBYTE, response());
    }).toThrow(TooManyBodiesError);
    first.emit('close');
    held.hold(200 * MEBIBYTE, response());
  });

  it('should take the only one, however large', () => {
    const held = new HeldBodies();
    held.hold(500 * MEBIBYTE, response());
    expect(() => {
      held.hold(MEBIBYTE, response());
    }).toThrow(TooManyBodiesError);
  });
});
