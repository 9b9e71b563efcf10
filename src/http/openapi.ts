import type { INestApplication, Type } from '@nestjs/common';
import {
  type ApiResponseExamples,
  type ApiResponseOptions,
  DocumentBuilder,
  type HeadersObject,
  type OpenAPIObject,
  SwaggerModule,
} from '@nestjs/swagger';
import { STATUS_CODES } from 'node:http';
import type { ApiError } from '../errors/api-error.js';
import { ERROR_CATALOGUE, type ErrorNumber, type ErrorStatus, statusOf } from '../errors/error-catalogue.js';
import { REQUEST_ID_HEADER } from './request-context.js';

interface OpenApiOptions {
  /** Path before `/plants`; it is in the document's server, not in its paths. */
  basePath: string;
  errorStatus: ErrorStatus;
}

/** The name of the credential in the document. */
export const SECURITY_SCHEME = 'bearerAuth';

/** Where the service serves the catalogue of errors as a page. */
export const ERRORS_PAGE = '/docs/errors';

/** The OpenAPI document, generated from the decorators of the code. */
export function createOpenApiDocument(app: INestApplication, { basePath, errorStatus }: OpenApiOptions): OpenAPIObject {
  const config = new DocumentBuilder()
    .setTitle('Plant Store')
    .setDescription(description(errorStatus))
    .setVersion('1.0.0')
    .setLicense('MIT', 'https://opensource.org/license/mit')
    .setExternalDoc('What each error number means', ERRORS_PAGE)
    .addServer(basePath || '/', 'This store')
    .addTag('Plants', 'What the store holds. Creation is the only operation.')
    .addSecurity(SECURITY_SCHEME, {
      type: 'http',
      scheme: 'bearer',
      description:
        'The access token, sent with every request as `Authorization: Bearer <ACCESS_TOKEN>`. To create plants it needs the scope `plants:create`.',
    })
    .addSecurityRequirements(SECURITY_SCHEME)
    .build();
  // There is no contact, and Nest would leave an empty one.
  delete config.info.contact;
  const { paths, components = {}, ...rest } = SwaggerModule.createDocument(app, config);
  return {
    ...rest,
    paths: Object.fromEntries(Object.entries(paths).map(([path, item]) => [path.slice(basePath.length), item])),
    components,
  };
}

function description(errorStatus: ErrorStatus): string {
  const status =
    errorStatus === 'contract'
      ? 'Every failure is answered with status 400'
      : 'Every failure is answered with the status that its error number begins with';
  const rows = Object.entries(ERROR_CATALOGUE).map(
    ([error, { meaning, retry, client }]) => `| ${error} | ${meaning} | ${retry} | ${client} |`,
  );
  return [
    'A store of plants with one operation: the creation of a plant.',
    `${status} and an Error body, whose \`error\` is one of these numbers:`,
    '<details>\n<summary>Error numbers</summary>',
    ['| error | meaning | Retryable? | The client … |', '|---|---|---|---|', ...rows].join('\n'),
    '</details>',
  ].join('\n\n');
}

/** What an operation declares of its failures. */
interface DeclaredFailures {
  type: Type;
  /** The meaning of 400 if every failure has that status. */
  description: string;
  /** One failure of each number that is worth an example. */
  examples: ApiError[];
}

/** The failure responses of an operation. With semantic statuses there is one for every status of the catalogue. */
export function failureResponses(declared: DeclaredFailures, errorStatus: ErrorStatus): ApiResponseOptions[] {
  const numbersOf = new Map<number, ErrorNumber[]>();
  for (const number of Object.keys(ERROR_CATALOGUE).map((key) => Number(key) as ErrorNumber)) {
    const status = statusOf(number, errorStatus);
    numbersOf.set(status, [...(numbersOf.get(status) ?? []), number]);
  }
  return [...numbersOf].map(([status, numbers]) => {
    const examples = declared.examples.filter(({ error }) => numbers.includes(error)).map(exampleOf);
    return {
      status,
      type: declared.type,
      description: errorStatus === 'contract' ? declared.description : meaningOf(status, numbers),
      headers: headersOf(numbers),
      ...(examples.length > 0 && { examples: Object.fromEntries(examples) }),
    };
  });
}

/** The failure as it is in the answer, by its number. */
function exampleOf({ error, message }: ApiError): [number, ApiResponseExamples] {
  return [error, { summary: `${error}: ${ERROR_CATALOGUE[error].meaning}`, value: { error, message } }];
}

function meaningOf(status: number, numbers: ErrorNumber[]): string {
  const meanings = numbers.map((number) => `${number}: ${ERROR_CATALOGUE[number].meaning}`);
  return `${STATUS_CODES[status] ?? 'Error'}. ${meanings.join('; ')}`;
}

export const REQUEST_ID_DESCRIPTION = {
  description:
    "The id of the request in the log of the service: the request's own `X-Request-Id` if that is a plain word, else a new one",
  schema: { type: 'string' },
} as const;

/** The headers that some failures carry, with the numbers of those failures. */
const HEADERS = [
  { name: 'WWW-Authenticate', type: 'string', when: /^40[13]/, says: 'the challenge, as RFC 6750 has it' },
  { name: 'Allow', type: 'string', when: /^405/, says: 'the one method that is offered' },
  { name: 'Retry-After', type: 'integer', when: /^503/, says: 'seconds to wait before sending again' },
];

function headersOf(numbers: ErrorNumber[]): HeadersObject {
  const headers: HeadersObject = {};
  for (const { name, type, when, says } of HEADERS) {
    const carriers = numbers.filter((number) => when.test(String(number)));
    if (carriers.length > 0) headers[name] = { description: `With ${carriers.join(', ')}: ${says}`, schema: { type } };
  }
  return { ...headers, [REQUEST_ID_HEADER]: REQUEST_ID_DESCRIPTION };
}
