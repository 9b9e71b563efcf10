import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { JSONOutput } from 'typedoc';

export const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

const SUFFIXES = ['Options', 'Extras'];

/** A part of the reference: a module, what it exports, or a member of that. */
export type Part = JSONOutput.DeclarationReflection;
type Comment = JSONOutput.Comment;

/** An `@example` of a comment, and what the comment is about. */
export interface Example {
  readonly name: string;
  readonly code: string;
}

/** Makes the reference anew, as `npm run api` does: its pages below a folder, and what they are made of. */
export async function makeReference(folder: string): Promise<{ pages: string; modules: Part[] }> {
  const pages = join(folder, 'pages');
  const json = join(folder, 'api.json');
  const args = [join(ROOT, 'node_modules/typedoc/bin/typedoc'), '--out', pages, '--json', json];
  await promisify(execFile)(process.execPath, args, { cwd: ROOT });
  const { children = [] } = JSON.parse(await readFile(json, 'utf8')) as JSONOutput.ProjectReflection;
  return { pages, modules: children };
}

/** The comment of a part, wherever TypeDoc has it: that of a function is with its signature. */
export function commentOf({ comment, signatures, getSignature }: Part): Comment | undefined {
  return comment ?? signatures?.find((signature) => signature.comment)?.comment ?? getSignature?.comment;
}

export function textOf(parts: readonly JSONOutput.CommentDisplayPart[] = []): string {
  return parts.map(({ text }) => text).join('');
}

/** What has no description among the exports and the methods of their classes, by its path. */
export function findUndocumented(modules: readonly Part[]): string[] {
  const isDocumented = (part: Part): boolean => textOf(commentOf(part)?.summary) !== '';
  return modules.flatMap((module) =>
    exportsOf(module).flatMap((exported) => {
      const path = `${module.name}: ${exported.name}`;
      const methods = (exported.children ?? []).filter((member) => member.signatures && member.name !== 'constructor');
      const members = isInterface(exported) ? [] : methods;
      return [
        ...(isDocumented(exported) ? [] : [path]),
        ...members.filter((member) => !isDocumented(member)).map((member) => `${path}.${member.name}`),
      ];
    }),
  );
}

/** The options that lack a description, or may be left out and have no `@defaultValue`. */
export function findIncompleteOptions(modules: readonly Part[]): string[] {
  return optionsOf(modules).flatMap(({ path, option }) => {
    const tag = option.comment?.blockTags?.find((block) => block.tag === '@defaultValue');
    const lacks = [
      ...(textOf(option.comment?.summary) === '' ? ['a description'] : []),
      ...(option.flags.isOptional === true && textOf(tag?.content) === '' ? ['@defaultValue'] : []),
    ];
    return lacks.map((part) => `${path} lacks ${part}`);
  });
}

/** All options, by their paths. */
export function optionsOf(modules: readonly Part[]): { path: string; option: Part }[] {
  return modules.flatMap((module) =>
    exportsOf(module)
      .filter(({ name, children }) => children && SUFFIXES.some((suffix) => name.endsWith(suffix)))
      .flatMap(({ name, children = [] }) =>
        children.map((option) => ({ path: `${module.name}: ${name}.${option.name}`, option })),
      ),
  );
}

/** The options of one interface, each with its `@defaultValue` as a value would be printed; undefined if it has none. */
export function defaultsOf(modules: readonly Part[], name: string): Record<string, string | undefined> {
  const own = optionsOf(modules).filter(({ path }) => path.includes(` ${name}.`));
  const defaults = own.map(({ option }): [string, string | undefined] => {
    const tag = option.comment?.blockTags?.find((block) => block.tag === '@defaultValue');
    const text = textOf(tag?.content).replace(/^```ts\n|\n```\s*$/g, '');
    return [option.name, text === '' ? undefined : text.replace(/^'(.*)'$/, '$1')];
  });
  return Object.fromEntries(defaults);
}

export function examplesOf(modules: readonly Part[]): Example[] {
  const found = modules.flatMap((module) => exportsOf(module).flatMap((part) => [part, ...(part.children ?? [])]));
  return found.flatMap((part) => {
    const tags = commentOf(part)?.blockTags ?? [];
    return tags
      .filter(({ tag }) => tag === '@example')
      .map(({ content }, index) => ({
        name: `${part.name}-${part.id}-${index}`,
        code: textOf(content).replace(/^```ts\n|\n```\s*$/g, ''),
      }));
  });
}

/** A second module may export what another one has: it is documented there. */
function exportsOf({ children = [] }: Part): Part[] {
  return children.filter(({ variant }) => (variant as string) !== 'reference');
}

function isInterface({ kind }: Part): boolean {
  return (kind as number) === 256;
}
