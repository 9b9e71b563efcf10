import { parseArgs, type ParseArgsConfig } from 'node:util';
import { UsageError } from './usage.error.js';

type Options = NonNullable<ParseArgsConfig['options']>;

/** What an option was given: several times where it may be repeated. */
export type OptionValues = Record<string, string | string[] | boolean | undefined>;

/** A command that does something. It is loaded only when it is called: help and refusals come without the framework. */
export interface Command {
  readonly usage: string;
  readonly options?: Options;
  /** What has to stand beside the options, as the usage calls it. */
  readonly operands?: readonly string[];
  readonly load: () => Promise<(values: never, ...operands: string[]) => Promise<void>>;
}

/** A command that others stand behind. */
export interface CommandGroup {
  readonly usage: string;
  readonly commands: Readonly<Record<string, Command | CommandGroup>>;
  /** Answers of its own, by the names of options. */
  readonly answers?: Readonly<Record<string, () => string>>;
}

const HELP = { help: { type: 'boolean', short: 'h' } } as const satisfies Options;

/** Runs what the arguments call for. @throws UsageError where they call for nothing that there is */
export async function call(command: Command | CommandGroup, args: readonly string[], path = ''): Promise<void> {
  try {
    await ('commands' in command ? callOneOf(command, args, path) : callAlone(command, args, path));
  } catch (error) {
    if (error instanceof UsageError) error.usage ||= command.usage;
    throw error;
  }
}

async function callOneOf(group: CommandGroup, args: readonly string[], path: string): Promise<void> {
  const [first, ...rest] = args;
  if (first === undefined) throw new UsageError(`a command is missing${path && ` behind ${path}`}`);
  if (first.startsWith('-')) {
    const answers = group.answers ?? {};
    const options = Object.fromEntries(
      Object.keys(answers).map((name) => [name, { type: 'boolean', short: name.charAt(0) } as const]),
    );
    const values = parse({ args: [...args], options: { ...options, ...HELP }, allowPositionals: true }).values;
    const asked = Object.keys(answers).find((name) => values[name] === true);
    console.log(values.help === true || asked === undefined ? group.usage : answers[asked]?.());
    return;
  }
  const next = Object.hasOwn(group.commands, first) ? group.commands[first] : undefined;
  if (next === undefined) throw new UsageError(`there is no command "${[path, first].filter(Boolean).join(' ')}"`);
  await call(next, rest, [path, first].filter(Boolean).join(' '));
}

async function callAlone(
  { usage, options, operands = [], load }: Command,
  args: readonly string[],
  path: string,
): Promise<void> {
  const parsed = parse({ args: [...args], options: { ...options, ...HELP }, allowPositionals: true, tokens: true });
  const { help, ...values } = parsed.values as OptionValues;
  if (help === true) {
    console.log(usage);
    return;
  }
  const given = (parsed.tokens ?? []).flatMap((token) => (token.kind === 'option' ? [token.name] : []));
  const repeated = given.find((name, index) => options?.[name]?.multiple !== true && given.indexOf(name) < index);
  if (repeated !== undefined) throw new UsageError(`--${repeated} is given more than once`);
  const surplus = parsed.positionals.slice(operands.length);
  if (surplus.length > 0) throw new UsageError(`${path} takes no "${surplus.join(' ')}"`);
  const missing = operands[parsed.positionals.length];
  if (missing !== undefined) throw new UsageError(`${missing} is missing behind ${path}`);
  const run = await load();
  await run(values as never, ...parsed.positionals);
}

function parse(
  config: Parameters<typeof parseArgs>[0] & object,
): ReturnType<typeof parseArgs> & { tokens?: ParsedToken[] } {
  try {
    return parseArgs(config);
  } catch (error) {
    // What follows is advice for how to write an argument that begins with a dash.
    throw new UsageError((error as Error).message.split(/\.\s/, 1)[0] ?? '');
  }
}

type ParsedToken = { kind: 'option'; name: string } | { kind: 'positional' | 'option-terminator' };
