/** The parts of Swagger UI's `system` that the plugin uses. */
interface SwaggerUi {
  fn: { getSampleSchema: (schema: unknown, type: string, config: unknown, example: unknown) => unknown };
  React: { createElement: (type: unknown, props: object | null, ...children: unknown[]) => unknown };
  authSelectors: { authorized: () => { size: number; getIn: (path: string[]) => string | undefined } };
  preauthorizeApiKey: (scheme: string, token: string) => void;
}
type Content = Record<string, { examples: Record<string, { value: unknown }> }>;
interface PageDocument {
  externalDocs: { url: string };
  paths: { '/plants': { post: { requestBody: { content: Content } } } };
}

// Names of the browser: TypeScript's own library would declare them for the whole service.
declare const addEventListener: (type: string, listener: () => void) => void;
declare const document: { head: { insertAdjacentHTML: (position: string, html: string) => void } };
declare const history: { replaceState: (state: null, title: string, url: string) => void };
declare const location: { hash: string; href: string; pathname: string; search: string };
declare const sessionStorage: { getItem: (key: string) => string | null; setItem: (key: string, text: string) => void };

/**
 * What the page does beyond Swagger UI. It runs in the browser: Nest writes the text of this function into a script of the page,
 * so it must not use anything from outside of itself.
 */
export function plantStorePlugin(system: SwaggerUi): object {
  const [SCHEME, KEY, FRAGMENT] = ['bearerAuth', 'plant-store token', '#token='] as const;
  const { getSampleSchema } = system.fn;
  const h = system.React.createElement;
  let storage: typeof sessionStorage | undefined;
  try {
    storage = sessionStorage;
  } catch {
    // Blocked by the browser: the token lasts until the page is loaded again.
  }
  let token = '';
  const findToken = (): void => {
    token = storage?.getItem(KEY) ?? '';
    if (!location.hash.startsWith(FRAGMENT)) return;
    token = location.hash.slice(FRAGMENT.length);
    storage?.setItem(KEY, token);
    history.replaceState(null, '', location.pathname + location.search);
  };
  const fillIn = (): void => {
    if (token !== '') system.preauthorizeApiKey(SCHEME, token);
  };
  findToken();
  addEventListener('hashchange', () => {
    findToken();
    fillIn();
  });
  document.head.insertAdjacentHTML('beforeend', '<meta name="viewport" content="width=device-width, initial-scale=1">');

  const updateJsonSpec = (original: (document: PageDocument) => unknown) => (document: PageDocument) => {
    const { examples = {} } = document.paths['/plants'].post.requestBody.content['application/json'] ?? {};
    for (const example of Object.values(examples)) {
      const [random = 0n] = crypto.getRandomValues(new BigUint64Array(1));
      // From 2^53 on, and odd: JavaScript would round it, so it is written as text.
      const id = (random >> 2n) | (1n << 53n) | 1n;
      example.value = JSON.stringify(example.value, null, 2).replace(/"id": \d+/, `"id": ${id}`);
    }
    // Swagger UI leaves out a relative link if the server is relative too.
    document.externalDocs.url = new URL(document.externalDocs.url, location.href).href;
    const result = original(document);
    fillIn();
    return result;
  };
  // Called after each change that the user makes.
  const persistAuthorizationIfNeeded = () => () => {
    storage?.setItem(KEY, system.authSelectors.authorized().getIn([SCHEME, 'value']) ?? '');
  };
  const hint = [
    'No access token yet? "npm start" prints a link that fills one in. Or create one: ',
    h('code', null, 'plant-store token create NAME'),
    ', with Docker Compose ',
    h('code', null, 'docker compose exec api plant-store token create NAME'),
  ];
  const AuthorizeBtnContainer = (original: unknown) => (props: Pick<SwaggerUi, 'authSelectors'>) =>
    props.authSelectors.authorized().size > 0
      ? h(original, props)
      : h('div', { className: 'without-token' }, h('p', null, ...hint), h(original, props));

  return {
    // Swagger UI would parse an example that is a text, and write it again.
    fn: {
      getSampleSchema: (...args: Parameters<typeof getSampleSchema>) =>
        typeof args[3] === 'string' ? args[3] : getSampleSchema(...args),
    },
    statePlugins: {
      spec: { wrapActions: { updateJsonSpec } },
      auth: { wrapActions: { persistAuthorizationIfNeeded } },
    },
    wrapComponents: { AuthorizeBtnContainer },
  };
}
