import { readFileSync } from 'node:fs';

import { quote } from '../errors/quote.js';
import type { VariableDescription } from './variable.decorator.js';

/** Where the text of a variable was found, and what it is; no text when it is not set. */
export interface VariableSource {
  /** The variable that was set: the one itself, or its `_FILE`. */
  name: string;
  text?: string;
  /** Why the text could not be read. */
  fault?: string;
}

function readSecretFile(name: string, path: string): VariableSource {
  let text: string;
  try {
    text = readFileSync(path, 'utf8').replace(/[\r\n]+$/, '');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return { name, fault: `cannot read ${quote(path)} (${String(code)}), should be the path of a readable file` };
  }
  if (text.trim() === '') return { name, fault: `${quote(path)} is empty, should be a file that holds the secret` };
  return { name, text };
}

/** Finds the text of a variable. One that is empty counts as not set, as compose files pass what is unset that way. */
export function findVariable({ name, secret }: VariableDescription, variables: NodeJS.ProcessEnv): VariableSource {
  const text = variables[name] ?? '';
  const fileName = `${name}_FILE`;
  const path = secret ? (variables[fileName] ?? '').trim() : '';

  if (text.trim() === '') return path === '' ? { name } : readSecretFile(fileName, path);
  if (path !== '') return { name, fault: `is set, and so is ${fileName}: should be one of the two` };
  // White space around a password may be part of it; the other secrets are trimmed where they are parsed.
  return { name, text: secret ? text : text.trim() };
}
