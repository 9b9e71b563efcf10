// For --import: prints at the end which packages of OpenTelemetry were loaded. Those that HIDDEN matches are as if not installed.
import Module, { createRequire, register } from 'node:module';

const { HIDDEN } = process.env;
const resolveCommonJs = Module._resolveFilename;
const RESOLVE = `
const hidden = new RegExp(${JSON.stringify(HIDDEN)});
export async function resolve(specifier, context, next) {
  if (hidden.test(specifier)) throw Object.assign(new Error('hidden'), { code: 'ERR_MODULE_NOT_FOUND' });
  return next(specifier, context);
}`;

if (HIDDEN) {
  const hidden = new RegExp(HIDDEN);
  register(`data:text/javascript,${encodeURIComponent(RESOLVE)}`);
  Module._resolveFilename = function (request, ...rest) {
    if (hidden.test(request)) throw Object.assign(new Error('hidden'), { code: 'MODULE_NOT_FOUND' });
    return resolveCommonJs.call(this, request, ...rest);
  };
}
process.on('exit', () => {
  const files = Object.keys(createRequire(import.meta.url).cache).join('\n');
  const loaded = new Set(files.match(/@opentelemetry\/[\w-]+/g));
  process.stderr.write(`${JSON.stringify({ loaded: [...loaded].sort() })}\n`);
});
