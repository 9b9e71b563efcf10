/** The value of an environment variable that an application can't run without. */
export function requiredVariable(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`The environment variable ${name} is missing.`);
  return value;
}
