// The Markdown theme of the API reference: without what a user of an entry point has no use for.
import { Converter, PageEvent, ReflectionKind } from 'typedoc';
import { MarkdownTheme, MarkdownThemeContext } from 'typedoc-plugin-markdown';

const link = (name) => `[\`${name}\`](#${name.toLowerCase()})`;
/** Types that TypeScript takes apart, and the names that they have; what tables say of members without a default. */
const REPLACEMENTS = [
  [/`Pick`\\<`PlantsSettings`, `"database"`\\> & .*? & (?=`Pick`)/g, `${link('PlantsModuleOptions')} & `],
  [/`Pick`\\<`PlantsExtras`, `"guards"`\\> & .*?`"guards"`\\>\\>/g, link('PlantsModuleExtras')],
  [/`Partial`\\<`PlantsOpenApi`\\>/g, '`PlantsOpenApiOptions`'],
  [/ & `Partial`\\<\\\{ \\\}\\>/g, ''],
  [/(?:`\d{5}` \\\| ){9,}`\d{5}`/g, link('ErrorNumber')],
  [/\\\{ `id`: `bigint`; `name`: `string`; `tag\?`: `string`; \\\}/g, link('NewPlant')],
  [/\\\{ `name`: `string`; `tag\?`: `string`; \\\}/g, link('Plant')],
  [/#+ Type Declaration\n+/g, ''],
  [/(?<!\\)\| (?:`undefined`|`\.\.\.`|-) (?=\|)/g, '| '],
  [/(?<!\\)\| `none` (?=\|)/g, '| none '],
];

/** @param {import('typedoc-plugin-markdown').MarkdownApplication} app */
export function load(app) {
  app.renderer.defineTheme('reference', ReferenceTheme);
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    for (const reflection of project.getReflectionsByKind(ReflectionKind.All))
      if (isUseless(reflection)) project.removeReflection(reflection);
  });
  app.renderer.on(PageEvent.END, (page) => {
    for (const [pattern, text] of REPLACEMENTS) page.contents = page.contents.replace(pattern, text);
  });
}

function isUseless({ kind, type, signatures = [], inheritedFrom, name }) {
  const isDocumented = signatures.some(({ comment }) => comment);
  // What must not be given, such as `size` of a `{ pool }`: it is in the types for the sake of their messages.
  if (kind === ReflectionKind.Property) return type?.name === 'never' || type?.name === 'undefined';
  // Nest, or the store itself, calls a constructor without a comment.
  if (kind === ReflectionKind.Constructor) return !isDocumented;
  if (kind === ReflectionKind.Method) return !isDocumented && inheritedFrom !== undefined;
  // That of the class which Nest makes for a configurable module.
  return name === '__index';
}

class ReferenceTheme extends MarkdownTheme {
  reflectionTemplate = (page) => {
    const context = this.getRenderContext(page);
    return page.model.isProject() ? context.index(page.model) : context.templates.reflection(page);
  };

  getRenderContext(page) {
    return new ReferenceContext(this, page, this.application.options);
  }
}

class ReferenceContext extends MarkdownThemeContext {
  constructor(...args) {
    super(...args);
    const { hierarchy } = this.partials;
    // The classes above are most often not exported.
    this.partials.inheritance = () => '';
    this.partials.hierarchy = (model, options) =>
      model.types.some(({ reflection }) => reflection) || model.isTarget ? hierarchy(model, options) : '';
    // The members of the error catalogue, which is a page of its own.
    this.partials.typeDeclarationContainer = () => '';
  }

  /** The first page: every export, with the first sentence about it. */
  index(project) {
    const row = (model) => {
      const { summary = [] } = model.comment ?? model.signatures?.[0]?.comment ?? {};
      const [sentence = ''] = this.helpers.getCommentParts(summary).split(/(?<=\.)\s|\n\n|:\n/);
      return `| [\`${model.name}\`](${this.urlTo(model)}) | ${sentence.replaceAll('\n', ' ').replace(/[.:]?$/, '.')} |`;
    };
    const parts = project.children.map(({ name, comment, children }) => [
      `## ${name}`,
      this.helpers.getCommentParts(comment.summary),
      [
        '| Export | |',
        '| --- | --- |',
        ...children.filter(({ kind }) => kind !== ReflectionKind.Reference).map(row),
      ].join('\n'),
    ]);
    const about =
      'What the entry points of the package export: types, defaults, errors and examples. `npm run api` makes these pages ' +
      'of the comments in the source; change those.';
    return [['# API reference', about], ...parts].flat().join('\n\n');
  }
}
