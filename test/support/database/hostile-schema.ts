import type { SentStatement, TestDatabase } from './test-database.js';

/** Of arguments and operands. */
const TYPES =
  `bool "char" name int2 int4 int8 float4 float8 numeric text varchar bytea oid regclass timestamptz timestamp date
  interval _text _int4 _int8`.split(/\s+/);
/** Of three arguments, to which belong all combinations of two. */
const FEW_TYPES = ['text', 'name', 'bool', 'int4', 'int8'];
/** The functions behind other syntax. */
const IMPLIED_OPERATORS = ['=', '<>', '<', '<=', '>', '>=', '~~', '!~~'];

/**
 * Makes the schema `hostile`, as a stranger would who hopes that it is on the path of another role: overloads of all functions and
 * operators that the statements may use, so that one is nearer than the catalogue's wherever the types of the arguments are not exactly
 * those of the catalogue's. Each fails with SQLSTATE EVIL1, and nobody else may execute it: then even one that is planned and not reached
 * fails, with 42501.
 */
export async function createHostileSchema(
  database: TestDatabase,
  stranger: string,
  statements: readonly SentStatement[],
): Promise<void> {
  const words = statements.flatMap(({ text }) => text.match(/\w+(?=\s*\()/g) ?? []);
  const symbols = statements.flatMap(({ text }) => text.match(/[-+*/<>=~!@#%^&|?]+/g) ?? []);
  await database.query(`CREATE SCHEMA hostile; GRANT ALL ON SCHEMA hostile TO ${stranger};
    GRANT USAGE ON SCHEMA hostile TO PUBLIC`);
  await database.query(
    `CREATE FUNCTION hostile.plant(functions text[], operators text[], types text[], few text[]) RETURNS void LANGUAGE plpgsql AS $$
    DECLARE
      evil CONSTANT text := 'LANGUAGE plpgsql AS ''BEGIN RAISE EXCEPTION SQLSTATE ''''EVIL1''''; END''';
      f text; one text; other text; third text; result text; arguments text;
    BEGIN
      ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;
      FOR f IN SELECT DISTINCT proname FROM pg_proc WHERE pronamespace = 'pg_catalog'::regnamespace AND proname = ANY (functions) LOOP
        EXECUTE format('CREATE FUNCTION hostile.%I() RETURNS text %s', f, evil);
        EXECUTE format('CREATE FUNCTION hostile.%I(VARIADIC text[]) RETURNS text %s', f, evil);
        EXECUTE format('CREATE FUNCTION hostile.%I(text, VARIADIC anyarray) RETURNS text %s', f, evil);
        FOREACH one IN ARRAY types LOOP
          CONTINUE WHEN one = '_text'; -- as VARIADIC
          EXECUTE format('CREATE FUNCTION hostile.%I(%s) RETURNS %2$s %3$s', f, one, evil);
          FOREACH other IN ARRAY types LOOP
            EXECUTE format('CREATE FUNCTION hostile.%I(%s, %s) RETURNS %2$s %4$s', f, one, other, evil);
          END LOOP;
        END LOOP;
        FOREACH one IN ARRAY few LOOP
          FOREACH other IN ARRAY few LOOP
            FOREACH third IN ARRAY few LOOP
              EXECUTE format('CREATE FUNCTION hostile.%I(%s, %s, %s) RETURNS %2$s %5$s', f, one, other, third, evil);
            END LOOP;
          END LOOP;
        END LOOP;
        -- With the names of its arguments; a quoted literal is nearest to a text.
        FOR arguments IN
          SELECT string_agg(format('%I %s DEFAULT NULL', COALESCE(NULLIF(proargnames[i], ''), 'argument_' || i),
            CASE WHEN proargtypes[i - 1] IN ('int'::regtype, 'bool'::regtype) THEN format_type(proargtypes[i - 1], NULL) ELSE 'text' END), ', ' ORDER BY i)
          FROM pg_proc, generate_series(1, pronargs) AS i
          WHERE pronamespace = 'pg_catalog'::regnamespace AND proname = f AND pronargs > 3 AND provariadic = 0
          GROUP BY pg_proc.oid
        LOOP
          EXECUTE format('CREATE OR REPLACE FUNCTION hostile.%I(%s) RETURNS text %s', f, arguments, evil);
        END LOOP;
      END LOOP;
      FOREACH one IN ARRAY types LOOP
        FOREACH other IN ARRAY types LOOP
          FOREACH result IN ARRAY ARRAY['bool', one] LOOP
            EXECUTE format('CREATE OR REPLACE FUNCTION hostile.%I(%s, %s) RETURNS %s %s', 'to_' || result, one, other, result, evil);
          END LOOP;
          FOR f IN SELECT DISTINCT oprname FROM pg_operator WHERE oprname = ANY (operators) AND oprkind = 'b' LOOP
            result := CASE WHEN f ~ '[=<>~]' THEN 'bool' ELSE one END;
            EXECUTE format('CREATE OPERATOR hostile.%s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = hostile.%I)', f, one, other, 'to_' || result);
          END LOOP;
        END LOOP;
      END LOOP;
    END $$`,
  );
  await database.query(`BEGIN; SET LOCAL ROLE ${stranger};
    SELECT hostile.plant(ARRAY[${literals(words.map((word) => word.toLowerCase()))}],
      ARRAY[${literals([...symbols, ...IMPLIED_OPERATORS])}],
      ARRAY[${literals(TYPES)}] || ARRAY(SELECT typname::text FROM pg_type WHERE typname = 'noderole'), ARRAY[${literals(FEW_TYPES)}]);
    COMMIT`);
}

const literals = (texts: readonly string[]): string =>
  Array.from(new Set(texts), (text) => `'${text.replaceAll("'", "''")}'`).join();
