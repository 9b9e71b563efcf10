import { readFileSync } from 'node:fs';
import ts from 'typescript';
import { optionNames } from '../../../src/util/options.js';

interface OptionDescription {
  name: string;
  /** The initialiser as text, empty if there is none. */
  default: string;
  /** The first paragraph of the comment that an editor shows. */
  about: string;
}

const FILES = ['plants/plants', 'auth/auth', 'database/database', 'database/migrations/migrator'];

/** The comments of the fields of all classes of options, by class and name. */
const comments = new Map<string, Map<string, string>>();
for (const name of FILES) {
  const text = readFileSync(new URL(`../../../src/${name}.options.ts`, import.meta.url), 'utf8');
  const file = ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true);
  for (const declaration of file.statements.filter(ts.isClassDeclaration)) {
    const fields = declaration.members.filter(ts.isPropertyDeclaration).map((field): [string, string] => {
      const [comment] = ts.getJSDocCommentsAndTags(field).filter(ts.isJSDoc);
      const [paragraph = ''] = (ts.getTextOfJSDocComment(comment?.comment) ?? '').split('\n\n');
      return [field.name.getText(), paragraph.replace(/\s+/g, ' ')];
    });
    comments.set(declaration.name?.text ?? '', new Map(fields));
  }
}

/** The options of a class, in the order of their declaration: what the tables of the documentation can be checked against. */
export function describeOptions(Options: new () => object): OptionDescription[] {
  const initial = new Map<string, unknown>(Object.entries(new Options()));
  return optionNames(Options).map((name) => ({
    name,
    default: defaultOf(initial.get(name)),
    about: commentOf(Options, name),
  }));
}

function defaultOf(value: unknown): string {
  return ['string', 'number', 'boolean'].includes(typeof value) ? String(value) : '';
}

function commentOf(Options: { name: string }, name: string): string {
  const inherited = Object.getPrototypeOf(Options) as { name: string };
  return comments.get(Options.name)?.get(name) ?? (inherited.name === '' ? '' : commentOf(inherited, name));
}
