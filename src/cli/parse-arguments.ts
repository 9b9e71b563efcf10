import { parseArgs, type ParseArgsConfig } from 'node:util';
import { quoteArgument } from './quote-argument.js';
import { UsageError } from './usage.error.js';

export type Options = NonNullable<ParseArgsConfig['options']>;

export interface ParsedArguments {
  /** What each option was given: several times where it may be repeated. */
  readonly values: Record<string, string | string[] | boolean | undefined>;
  readonly operands: readonly string[];
}

/** Reads options, wherever they stand, and what stands beside them. @throws UsageError where they are not these options */
export function parseArguments(args: readonly string[], options: Options): ParsedArguments {
  const config = { args: [...args], options, allowPositionals: true, tokens: true } as const;
  const { values, positionals, tokens } = parsed(config);
  const given = tokens.flatMap((token) => (token.kind === 'option' ? [token.name] : []));
  const repeated = given.find((name, index) => options[name]?.multiple !== true && given.indexOf(name) < index);
  if (repeated !== undefined && values.help !== true) throw new UsageError(`--${repeated} is given more than once`);
  return { values: values as ParsedArguments['values'], operands: positionals };
}

type Config = ParseArgsConfig & { readonly options: Options; readonly tokens: true };

function parsed(config: Config): ReturnType<typeof parseArgs<Config>> {
  try {
    return parseArgs(config);
  } catch (error) {
    // The messages of parseArgs repeat arguments as they are, and do not say which value it was that began with a dash.
    throw new UsageError(argumentFault(config) ?? (error as Error).message);
  }
}

function argumentFault(config: Config): string | undefined {
  for (const token of parseArgs({ ...config, strict: false }).tokens) {
    if (token.kind !== 'option') continue;
    const { name, rawName, value, inlineValue } = token;
    if (!Object.hasOwn(config.options, name)) return `there is no option ${quoteArgument(rawName)}`;
    if (config.options[name]?.type === 'string' && inlineValue === false && /^-./s.test(value)) {
      return (
        `${rawName} is followed by ${quoteArgument(value)}, should be followed by its value: ` +
        `one that begins with a dash is given as ${rawName}=${quoteArgument(value).slice(1, -1)}`
      );
    }
  }
  return undefined;
}
