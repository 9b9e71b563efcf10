import { Expose } from 'class-transformer';

/** What is known of an environment variable; documentation and example files are checked against it. */
export interface VariableDescription {
  /** Name of the environment variable. */
  name: string;
  /** Property of the environment class that holds its value. */
  property: string;
  /** One line of explanation. */
  about: string;
  /** The value that setting it to its default would take, empty if it has none. */
  default: string;
  /** A secret also reads from the file that `<name>_FILE` names, and its value is never shown. */
  secret: boolean;
}

interface VariableOptions {
  secret?: boolean;
  /** How the default is written, where that is not the initialiser as text. */
  default?: string;
}

type Declared = Omit<VariableDescription, 'default'> & VariableOptions;

const declared = new WeakMap<object, Declared[]>();

/** Ties a property to the environment variable that it is read from. The initialiser is the default. */
export function Variable(name: string, about: string, options: VariableOptions = {}): PropertyDecorator {
  return (target, property) => {
    Expose({ name })(target, property);
    const variables = declared.get(target) ?? [];
    variables.push({ secret: false, ...options, name, property: String(property), about });
    declared.set(target, variables);
  };
}

/** The variables of an environment class, in the order of their declaration. */
export function describeVariables(environment: new () => object): VariableDescription[] {
  const initial = new Map(Object.entries(new environment()));
  const variables = declared.get(environment.prototype as object) ?? [];
  return variables.map((variable) => ({
    ...variable,
    default: variable.default ?? String(initial.get(variable.property) ?? ''),
  }));
}
