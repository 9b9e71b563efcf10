import { quote } from '../util/text.js';

/** The text is not JSON. `position` is an index of the text, in UTF-16 code units. */
export class JsonSyntaxError extends Error {
  override readonly name = 'JsonSyntaxError';

  constructor(
    message: string,
    readonly position: number,
  ) {
    super(message);
  }
}

/** A JSON number as text. No float holds it, so nothing is rounded. */
export class JsonNumber {
  constructor(readonly source: string) {}
}

/** A nested object or array. Its syntax is checked, its content is not kept. */
export class JsonStructure {
  constructor(readonly kind: 'object' | 'array') {}
}

type JsonValue = string | boolean | null | JsonNumber | JsonStructure;
export type JsonObject = Record<string, JsonValue>;

/**
 * Parses a JSON text (RFC 8259) whose objects have unique keys (RFC 7493). Returns the members of the outermost object,
 * or undefined if the text is another value. It uses no recursion, so deep nesting cannot overflow the stack.
 *
 * @param names the members to return; keeping thousands of others would take long
 * @throws JsonSyntaxError if the text is not JSON or repeats a key, at any depth
 */
export function parseExactJson(text: string, names: readonly string[]): JsonObject | undefined {
  return new ExactJsonParser(text, names).parse();
}

/** The keys of an open object; `null` is an open array. Most have one or two, so a Set would cost more. */
type OpenContainer = { keys: Set<string> | string | undefined } | null;

const OBJECT = new JsonStructure('object');
const ARRAY = new JsonStructure('array');

class ExactJsonParser {
  private readonly open: OpenContainer[] = [];
  private readonly members: JsonObject = {};
  private member = '';
  private position = 0;

  constructor(
    private readonly text: string,
    private readonly names: readonly string[],
  ) {}

  parse(): JsonObject | undefined {
    for (;;) {
      this.skipWhitespace();
      let value = this.readValue();
      if (value === undefined) continue;
      // The end of a value may also end the containers around it.
      for (;;) {
        if (this.open.length === 1 && this.open[0] && this.names.includes(this.member))
          this.members[this.member] = value;
        this.skipWhitespace();
        const container = this.open[this.open.length - 1];
        if (container === undefined) {
          if (this.position < this.text.length) this.fail('expected the end of the text');
          return value === OBJECT ? this.members : undefined;
        }
        const next = this.text[this.position];
        if (next === ',') {
          this.position++;
          if (container) this.readKey(container);
          break;
        }
        if (next !== (container ? '}' : ']')) this.fail(`expected "," or "${container ? '}' : ']'}"`);
        this.position++;
        this.open.pop();
        value = container ? OBJECT : ARRAY;
      }
    }
  }

  /** Reads a scalar or an empty container. It opens any other container and returns undefined. */
  private readValue(): JsonValue | undefined {
    const start = this.text[this.position];
    if (start !== '{' && start !== '[') return this.readScalar();
    const container = start === '{' ? { keys: undefined } : null;
    this.position++;
    this.skipWhitespace();
    if (this.text[this.position] === (container ? '}' : ']')) {
      this.position++;
      return container ? OBJECT : ARRAY;
    }
    this.open.push(container);
    if (container) this.readKey(container);
    return undefined;
  }

  private readKey(container: NonNullable<OpenContainer>): void {
    this.skipWhitespace();
    const start = this.position;
    if (this.text[start] !== '"') this.fail('expected a key in double quotes');
    const key = this.readString();
    // Older Node.js releases hash integer keys without a seed, so a client could choose thousands that collide. The
    // quote makes it no integer.
    const entry = key.charCodeAt(0) <= LAST_DIGIT ? `"${key}` : key;
    if (container.keys === undefined) container.keys = entry;
    else {
      if (typeof container.keys === 'string') container.keys = new Set([container.keys]);
      if (container.keys.has(entry)) this.fail(`the key ${quote(key)} is repeated`, start);
      container.keys.add(entry);
    }
    this.skipWhitespace();
    if (this.text[this.position] !== ':') this.fail('expected ":"');
    this.position++;
    if (this.open.length === 1) this.member = key;
  }

  private readScalar(): JsonValue {
    const start = this.position;
    if (this.text[start] === '"') return this.readString();
    if (this.skip(NUMBER)) return new JsonNumber(this.text.slice(start, this.position));
    for (const [literal, value] of LITERALS) {
      if (!this.text.startsWith(literal, start)) continue;
      this.position += literal.length;
      return value;
    }
    return this.fail('expected a value');
  }

  private readString(): string {
    const start = this.position;
    this.position++;
    this.skip(PLAIN);
    if (this.text[this.position] === '"') return this.text.slice(start + 1, this.position++);
    while (this.text[this.position] === '\\') {
      this.position += 2;
      this.skip(PLAIN);
    }
    if (this.position >= this.text.length) this.fail('the string is not closed', start);
    if (this.text[this.position] !== '"') this.fail('a control character in a string must be escaped');
    this.position++;
    try {
      // V8 looks up short strings in a hash table, integers among them. The letter makes it no integer.
      return (JSON.parse(`"x${this.text.slice(start + 1, this.position)}`) as string).slice(1);
    } catch {
      return this.fail('the string holds an escape that JSON does not know', start);
    }
  }

  private skipWhitespace(): void {
    if (this.text.charCodeAt(this.position) <= 0x20) this.skip(WHITESPACE);
  }

  private skip(pattern: RegExp): boolean {
    pattern.lastIndex = this.position;
    const found = pattern.test(this.text);
    if (found) this.position = pattern.lastIndex;
    return found;
  }

  private fail(message: string, position = this.position): never {
    throw new JsonSyntaxError(message, position);
  }
}

const WHITESPACE = /[ \t\n\r]+/y;
// eslint-disable-next-line no-control-regex -- JSON forbids these characters in a string
const PLAIN = /[^"\\\u0000-\u001f]+/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const LAST_DIGIT = 0x39;
const LITERALS = [
  ['true', true],
  ['false', false],
  ['null', null],
] as const;
