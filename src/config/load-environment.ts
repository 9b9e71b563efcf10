import 'reflect-metadata';

import { plainToInstance } from 'class-transformer';
import { validateSync } from 'class-validator';

import { ConfigurationError } from './configuration.error.js';
import { Environment } from '../app/config.js';
import { findVariable } from './variable-source.js';
import { describeVariables } from './variable.decorator.js';

/**
 * Reads the configuration from environment variables.
 *
 * @throws {ConfigurationError} naming every fault at once; it shows no secret
 */
export function loadEnvironment(variables: NodeJS.ProcessEnv): Environment {
  const sources = describeVariables(Environment).map((variable) => ({
    ...variable,
    source: findVariable(variable, variables),
  }));

  const environment = plainToInstance(
    Environment,
    Object.fromEntries(sources.map(({ name, source }) => [name, source.text])),
    { excludeExtraneousValues: true, exposeDefaultValues: true },
  );
  const invalid = new Map(
    validateSync(environment, { stopAtFirstError: true }).map(({ property, constraints = {} }) => [
      property,
      Object.values(constraints)[0],
    ]),
  );

  const faults = sources.flatMap(({ property, source }) => {
    // What could not be read has its default, and so would be called missing as well.
    const fault = source.fault ?? invalid.get(property);
    return fault === undefined ? [] : [`${source.name}: ${fault}`];
  });
  if (faults.length > 0) throw new ConfigurationError(faults);
  return environment;
}
