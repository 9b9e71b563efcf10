import { parseArgs, type ParseArgsConfig } from 'node:util';
import { withoutTokens } from '../auth/token-format.js';
import { buildCommit, packageVersion } from '../util/package-files.cjs';
import { quote } from '../util/text.js';

type Options = NonNullable<ParseArgsConfig['options']>;

/** A command that does something, or has subcommands. It is loaded only when it is called: help and refusals do not load the framework. */
export interface Command {
  /** What `--help` prints, and what follows a message that the command line is wrong; that of its group unless given. */
  readonly usage?: string;
  /** What only `--help` prints, after the usage. */
  readonly appendix?: () => Promise<string>;
  readonly commands?: Readonly<Record<string, Command>>;
  readonly options?: Options;
  /** Arguments that are not options, by the names that the usage gives them; one in brackets may be missing. */
  readonly operands?: readonly string[];
  readonly load?: () => Promise<(values: never, ...operands: string[]) => Promise<void>>;
}

export class UsageError extends Error {
  override readonly name = 'UsageError';
  /** The usage of the command that was called. */
  usage = '';
}

/** An argument as a message shows it. Tokens are removed first, since a shortened token may not be recognised any more. */
export function quoteArgument(text: string): string {
  return quote(withoutTokens(text));
}

const HELP = { help: { type: 'boolean', short: 'h' } } as const satisfies Options;
const VERSION = { version: { type: 'boolean', short: 'v' } } as const satisfies Options;

/** Runs the command that the arguments name. @throws UsageError if there is no such command, or its arguments are wrong */
export async function call(command: Command, args: readonly string[], path = ''): Promise<void> {
  const { usage = '', appendix, commands, options, operands = [], load } = command;
  const [first, ...rest] = args;
  const below = (name: string): string => (path === '' ? name : `${path} ${name}`);
  try {
    if (commands && first === undefined) throw new UsageError(`a command is missing${path && ` behind ${path}`}`);
    if (commands && first !== undefined && !first.startsWith('-')) {
      const next = Object.hasOwn(commands, first) ? commands[first] : undefined;
      if (next) {
        await call({ usage, ...next }, rest, below(first));
        return;
      }
      throw new UsageError(`there is no command ${quoteArgument(below(first))}`);
    }
    const { values, positionals } = parseArguments(args, { ...options, ...HELP, ...(path === '' && VERSION) });
    const { help, version, ...others } = values;
    if (help !== true && version === true) console.log(`${packageVersion()} ${buildCommit() ?? ''}`.trim());
    else if (help === true || !load) console.log(appendix ? `${usage}\n\n${await appendix()}` : usage);
    else {
      const surplus = positionals.slice(operands.length);
      if (surplus.length > 0) throw new UsageError(`${path} takes no ${quoteArgument(surplus.join(' '))}`);
      const missing = operands[positionals.length];
      if (missing?.startsWith('[') === false) throw new UsageError(`${missing} is missing behind ${path}`);
      const run = await load();
      await run(others as never, ...positionals);
    }
  } catch (error) {
    if (error instanceof UsageError) error.usage ||= usage;
    throw error;
  }
}

type Config = ParseArgsConfig & { readonly options: Options; readonly tokens: true };
type ParsedArguments = ReturnType<typeof parseArgs<Config>>;

function parseArguments(args: readonly string[], options: Options): Omit<ParsedArguments, 'tokens'> {
  const { values, positionals, tokens } = parseStrictly({ args, options, allowPositionals: true, tokens: true });
  const names = tokens.flatMap((token) => (token.kind === 'option' ? [token.name] : []));
  const repeated = names.find((name, index) => options[name]?.multiple !== true && names.indexOf(name) < index);
  if (repeated !== undefined && values.help !== true) throw new UsageError(`--${repeated} is given more than once`);
  return { values, positionals };
}

function parseStrictly(config: Config): ParsedArguments {
  try {
    return parseArgs(config);
  } catch (error) {
    // The messages of parseArgs repeat arguments unescaped, and do not say which value began with a dash.
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
