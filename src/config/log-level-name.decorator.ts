import { Choice } from './choice.decorator.js';

/** The least level that is logged, by the names of Nest and by those that are usual elsewhere. */
export function LogLevelName(): PropertyDecorator {
  return Choice([
    ['fatal', 'fatal'],
    ['error', 'error'],
    ['warn', 'warn'],
    ['info', 'log'],
    ['log', 'log'],
    ['debug', 'debug'],
    ['trace', 'verbose'],
    ['verbose', 'verbose'],
  ]);
}
