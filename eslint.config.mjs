import eslint from '@eslint/js';
import prettier from 'eslint-config-prettier';
import tseslint from 'typescript-eslint';

export default tseslint.config(
  { ignores: ['**/dist', 'coverage', '.data', 'src/client/generated', 'src/database/generated'] },
  eslint.configs.recommended,
  {
    files: ['**/*.ts'],
    extends: [...tseslint.configs.strictTypeChecked, ...tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      // Nest's modules are classes that only carry a decorator.
      '@typescript-eslint/no-extraneous-class': ['error', { allowWithDecorator: true }],
      // Plain objects of the right shape are how DTOs, options and Nest's and passport's parameters are meant to be filled.
      '@typescript-eslint/no-unsafe-class-instance-assignment': 'off',
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
    },
  },
  {
    // What the store needs of the process it runs in comes through its module options.
    files: ['src/plants/**'],
    rules: {
      'no-restricted-imports': [
        'error',
        { patterns: ['**/cli/**', '**/app/**', '**/management/**', '**/dev-postgres/**', '**/static-tokens*'] },
      ],
    },
  },
  {
    // They are built where the packed store is installed; here its types, and with them most others, are unknown.
    files: ['examples/**/*.ts', 'test/packed/host/*.ts'],
    extends: [tseslint.configs.disableTypeChecked],
  },
  {
    files: ['**/*.mjs'],
    languageOptions: { globals: { process: 'readonly', console: 'readonly', URL: 'readonly', fetch: 'readonly' } },
  },
  {
    files: ['examples/commonjs-host/test/*.js'],
    languageOptions: {
      sourceType: 'commonjs',
      globals: { process: 'readonly', fetch: 'readonly', __dirname: 'readonly' },
    },
  },
  prettier,
);
