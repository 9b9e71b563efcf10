/** The parts of Swagger UI's `system` that the plugin uses. */
interface SwaggerUi {
  fn: { getSampleSchema: (schema: unknown, type: string, config: unknown, example: unknown) => unknown };
  React: { createElement: (type: unknown, props: object | null, ...children: unknown[]) => unknown };
  authSelectors: { authorized: () => { size: number; getIn: (path: string[]) => string | undefined } };
  preauthorizeApiKey: (scheme: string, token: string) => void;
}

interface PageDocument {
  externalDocs?: { url: string };
  paths: Record<string, { post: { requestBody: { content: Record<string, { examples: Examples }> } } }>;
}
type Examples = Record<string, { value: unknown }>;

// Those of the browser: the library of types that has them would give them to the whole service.
declare const addEventListener: (type: string, listener: () => void) => void;
declare const document: { head: { insertAdjacentHTML: (position: string, html: string) => void } };
declare const history: { replaceState: (state: null, title: string, url: string) => void };
declare const location: { hash: string; href: string; pathname: string; search: string };
declare const sessionStorage: { getItem: (key: string) => string | null; setItem: (key: string, text: string) => void };

/**
 * What the page does beyond Swagger UI. It runs in the browser: Nest writes the text of this function into a script of the page,
 * so nothing in it may be of another file or of the rest of this one.
 */
export function plantStorePlugin(system: SwaggerUi): object {
  const SCHEME = 'bearerAuth';
  const TOKEN_KEY = 'plant-store token';
  const FRAGMENT = '#token=';
  const { getSampleSchema } = system.fn;
  const h = system.React.createElement;

  document.head.insertAdjacentHTML('beforeend', '<meta name="viewport" content="width=device-width, initial-scale=1">');

  // A browser that blocks the storage throws at its very name.
  const stored = (use: (storage: typeof sessionStorage) => string | null): string | null => {
    try {
      return use(sessionStorage);
    } catch {
      return null;
    }
  };
  const store = (token: string): void => {
    stored((storage) => (storage.setItem(TOKEN_KEY, token), null));
  };
  /** The token of the link, which is removed from the address, or else the one that was used before the page was loaded again. */
  const findToken = (): string => {
    if (!location.hash.startsWith(FRAGMENT)) return stored((storage) => storage.getItem(TOKEN_KEY)) ?? '';
    const token = location.hash.slice(FRAGMENT.length);
    history.replaceState(null, '', location.pathname + location.search);
    store(token);
    return token;
  };
  let token = findToken();
  addEventListener('hashchange', () => {
    token = findToken();
    if (token !== '') system.preauthorizeApiKey(SCHEME, token);
  });

  /** From 2^53 on, and odd: a number that JavaScript would round. So it is written as text. */
  const newId = (): bigint => {
    const [random = 0n] = crypto.getRandomValues(new BigUint64Array(1));
    return (random >> 2n) | (1n << 53n) | 1n;
  };

  return {
    // Swagger UI would parse an example that is a text, and write it again.
    fn: {
      getSampleSchema: (...args: Parameters<typeof getSampleSchema>) =>
        typeof args[3] === 'string' ? args[3] : getSampleSchema(...args),
    },
    statePlugins: {
      spec: {
        wrapActions: {
          updateJsonSpec: (original: (document: PageDocument) => unknown) => (document: PageDocument) => {
            const content = document.paths['/plants']?.post.requestBody.content['application/json'];
            for (const example of Object.values(content?.examples ?? {})) {
              example.value = JSON.stringify(example.value, null, 2).replace(/"id": \d+/, `"id": ${newId()}`);
            }
            // Swagger UI leaves out a relative link where the server is relative too.
            const { externalDocs } = document;
            if (externalDocs) externalDocs.url = new URL(externalDocs.url, location.href).href;
            const result = original(document);
            if (token !== '') system.preauthorizeApiKey(SCHEME, token);
            return result;
          },
        },
      },
      auth: {
        wrapActions: {
          // Called after each change that the user makes.
          persistAuthorizationIfNeeded: () => () => {
            store(system.authSelectors.authorized().getIn([SCHEME, 'value']) ?? '');
          },
        },
      },
    },
    wrapComponents: {
      AuthorizeBtnContainer: (original: unknown) => (props: Pick<SwaggerUi, 'authSelectors'>) =>
        props.authSelectors.authorized().size > 0
          ? h(original, props)
          : h(
              'div',
              { className: 'without-token' },
              h(
                'p',
                null,
                'No access token yet? "npm start" prints a link that fills one in. Or create one: ',
                h('code', null, 'plant-store token create --name NAME'),
                ', with Docker Compose ',
                h('code', null, 'docker compose exec api plant-store token create --name NAME'),
              ),
              h(original, props),
            ),
    },
  };
}
