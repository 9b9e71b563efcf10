import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, type OpenAPIObject, type ResponseObject, SwaggerModule } from '@nestjs/swagger';
import type { Environment } from '../config/environment.js';
import { ERROR_CATALOGUE, type ErrorStatus } from '../errors/error-catalogue.js';
import { failureResponses } from '../plants/plants.openapi.js';

/** The name of the security scheme in the document. */
export const SECURITY_SCHEME = 'bearerAuth';

/** The OpenAPI document, made from the decorators. The prefix of `/plants` stands in its server, not in its paths. */
export function createOpenApiDocument(
  app: INestApplication,
  { BASE_PATH, ERROR_STATUS }: Pick<Environment, 'BASE_PATH' | 'ERROR_STATUS'>,
): OpenAPIObject {
  const config = new DocumentBuilder()
    .setTitle('Plant Store')
    .setDescription(description(ERROR_STATUS))
    .setVersion('1.0.0')
    .setLicense('MIT', 'https://opensource.org/license/mit')
    // Relative to the document and the page: a proxy may have taken a prefix away.
    .addServer(`.${BASE_PATH}`, 'This store')
    .addTag('Plants', 'What the store holds. Creation is the only operation.')
    .addSecurity(SECURITY_SCHEME, {
      type: 'http',
      scheme: 'bearer',
      description:
        'The access token, sent with every request as `Authorization: Bearer <ACCESS_TOKEN>`. ' +
        'To create plants it needs the scope `plants:create`.',
    })
    .addSecurityRequirements(SECURITY_SCHEME)
    .build();
  const document = SwaggerModule.createDocument(app, config, { ignoreGlobalPrefix: true, operationIdFactory });
  const responses = document.paths['/plants']?.post?.responses ?? {};
  // The server and the router in front of the route answer too.
  for (const { status, ...failure } of failureResponses(ERROR_STATUS))
    responses[status] = { ...(responses[400] as ResponseObject), ...failure };
  return document;
}

/** As Nest makes them, but for the operation of the store. */
function operationIdFactory(controller: string, method: string): string {
  return controller === 'PlantsController' ? 'createPlant' : `${controller}_${method}`;
}

function description(errorStatus: ErrorStatus): string {
  const status = errorStatus === 'contract' ? '400' : 'that its error number begins with';
  const rows = Object.entries(ERROR_CATALOGUE).map(
    ([error, { meaning, retry }]) => `| ${error} | ${meaning} | ${retry} |`,
  );
  return [
    'A store of plants with one operation: the creation of a plant.',
    `Every failure is answered with the status ${status} and an Error body, whose \`error\` is one of these numbers:`,
    '<details>\n<summary>Error numbers</summary>',
    ['| error | meaning | Retryable? |', '|---|---|---|', ...rows].join('\n'),
    '</details>',
  ].join('\n\n');
}
