import eslint from '@eslint/js';
import prettier from 'eslint-config-prettier';
import tseslint from 'typescript-eslint';

/** Each folder of `src`, with what its files may import: folders below it, or only the files that a path names. */
const LAYERS = {
  util: [],
  errors: [],
  http: ['util', 'errors'],
  database: ['util'],
  auth: ['util', 'errors', 'http', 'database'],
  // The writer knows neither HTTP nor SQL, but what a failed statement means.
  writer: ['database/database.errors'],
  // Plants know principals and scopes, but no guard or token.
  plants: ['util', 'errors', 'http', 'database', 'writer', 'auth/scopes', 'auth/token-verifier'],
  config: ['util', 'errors', 'http', 'database', 'auth', 'plants'],
  management: ['util', 'errors', 'http', 'database', 'auth', 'plants', 'config', 'writer/batch-writer'],
  'embedded-postgres': ['util', 'database', 'config'],
  server: ['util', 'errors', 'http', 'database', 'auth', 'plants', 'config'],
  cli: ['util', 'database', 'auth', 'plants', 'config', 'embedded-postgres', 'server', 'app', 'main'],
};

function importsDownwards([folder, allowed]) {
  const names = [...Object.keys(LAYERS), 'app', 'app\\.module', 'index', 'main'].filter(
    (name) => name !== folder && !allowed.includes(name),
  );
  // An import of another folder goes up out of this one, and names the other one first.
  const exceptions = allowed.filter((path) => path.includes('/')).map((path) => `(?:${path}\\.js$)`);
  const regex = `^(?:\\.\\./)+(?!${exceptions.join('|') || '$'})(?:${names.join('|')})(?:/|\\.js$)`;
  const message = `${folder} may import of other folders: ${allowed.join(', ') || 'nothing'}.`;
  return {
    files: [`src/${folder}/**/*.{ts,mts,cts}`],
    ignores: ['**/*.spec.ts'],
    rules: { 'no-restricted-imports': ['error', { patterns: [{ regex, message }] }] },
  };
}

export default tseslint.config(
  { ignores: ['**/dist', 'coverage', '.data', '**/generated'] },
  eslint.configs.recommended,
  {
    files: ['**/*.{ts,mts,cts}'],
    extends: [...tseslint.configs.strictTypeChecked, ...tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      // Nest's modules are classes that only carry a decorator.
      '@typescript-eslint/no-extraneous-class': ['error', { allowWithDecorator: true }],
      // Plain objects of the right shape fill DTOs, options, and the parameters of Nest and passport.
      '@typescript-eslint/no-unsafe-class-instance-assignment': 'off',
      'no-duplicate-imports': ['error', { allowSeparateTypeImports: true }],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
    },
  },
  ...Object.entries(LAYERS).map(importsDownwards),
  {
    // They are built where the packed store is installed; here its types, and with them most others, are unknown.
    files: ['examples/*/**/*.ts', 'test/packed/{host,recipes}/**/*.{ts,mts}'],
    extends: [tseslint.configs.disableTypeChecked],
  },
  {
    files: ['**/*.mjs'],
    languageOptions: { globals: { process: 'readonly', console: 'readonly', URL: 'readonly', fetch: 'readonly' } },
  },
  {
    files: ['**/*.cjs'],
    languageOptions: {
      sourceType: 'commonjs',
      globals: { process: 'readonly', console: 'readonly', fetch: 'readonly', __dirname: 'readonly' },
    },
  },
  prettier,
);
