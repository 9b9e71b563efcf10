/** `this` of a decorated method: the instance as Nest gives it to others, or the one that Nest has created. */
export const DECORATIONS = ['on the proxy', 'on the instance'] as const;
export type Decoration = (typeof DECORATIONS)[number];

type Method = (this: unknown, ...args: unknown[]) => unknown;

/**
 * An `instanceDecorator` for `instrument` of NestFactory, as tracing tools have it: each instance becomes a Proxy that reports the
 * calls of its methods.
 */
export function tracing(decoration: Decoration, onCall: (call: string) => void): (instance: unknown) => unknown {
  function decorate(name: string, method: Method, instance: object): Method {
    const call = function (this: unknown, ...args: unknown[]): unknown {
      onCall(name);
      return Reflect.apply(method, decoration === 'on the proxy' ? this : instance, args);
    };
    // Nest reads what decorators say of a method at its function.
    for (const key of Reflect.getMetadataKeys(method)) {
      Reflect.defineMetadata(key, Reflect.getMetadata(key, method), call);
    }
    return call;
  }

  return (instance) => {
    if (typeof instance === 'function') return new Proxy(instance, {});
    if (typeof instance !== 'object' || instance === null) return instance;
    const decorated = new Map<Method, Method>();
    return new Proxy(instance, {
      get(target, property, receiver) {
        const value: unknown = Reflect.get(target, property, receiver);
        const isMethod = typeof value === 'function' && typeof property === 'string' && property !== 'constructor';
        // What can't be changed a Proxy has to return as it is.
        if (!isMethod || Object.getOwnPropertyDescriptor(target, property)?.configurable === false) return value;
        const method = value as Method;
        const name = `${target.constructor.name}.${property}`;
        const known = decorated.get(method) ?? decorate(name, method, target);
        decorated.set(method, known);
        return known;
      },
    });
  };
}
