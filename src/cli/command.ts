import { type Options, parseArguments } from './parse-arguments.js';
import { quoteArgument } from './quote-argument.js';
import { UsageError } from './usage.error.js';

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
    const { values } = parseArguments(args, { ...options, ...HELP });
    const asked = Object.keys(answers).find((name) => values[name] === true);
    console.log(values.help === true || asked === undefined ? group.usage : answers[asked]?.());
    return;
  }
  const named = [path, first].filter(Boolean).join(' ');
  const next = Object.hasOwn(group.commands, first) ? group.commands[first] : undefined;
  if (next === undefined) throw new UsageError(`there is no command ${quoteArgument(named)}`);
  await call(next, rest, named);
}

async function callAlone(
  { usage, options, operands = [], load }: Command,
  args: readonly string[],
  path: string,
): Promise<void> {
  const { values, operands: given } = parseArguments(args, { ...options, ...HELP });
  const { help, ...rest } = values;
  if (help === true) {
    console.log(usage);
    return;
  }
  const surplus = given.slice(operands.length);
  if (surplus.length > 0) throw new UsageError(`${path} takes no ${quoteArgument(surplus.join(' '))}`);
  const missing = operands[given.length];
  if (missing !== undefined) throw new UsageError(`${missing} is missing behind ${path}`);
  const run = await load();
  await run(rest as never, ...given);
}
