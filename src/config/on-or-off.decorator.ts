import { Choice } from './choice.decorator.js';

/** What is switched on or off. */
export function OnOrOff(): PropertyDecorator {
  return Choice([
    ['on', true],
    ['off', false],
    ['true', true],
    ['false', false],
    ['1', true],
    ['0', false],
  ]);
}
