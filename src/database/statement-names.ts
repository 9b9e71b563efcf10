/** Statements that are prepared at most on each connection: those that are sent again and again are far fewer. */
const MOST = 100;
const UNNAMED = '';

/**
 * Names statements by their text, so that PostgreSQL parses and plans each once on a connection. Those that come when there are too many
 * have no name, and are not kept.
 */
export function statementNames(): (query: { sql: string }) => string {
  const names = new Map<string, string>();
  return ({ sql }) => {
    const known = names.get(sql);
    if (known !== undefined) return known;
    if (names.size === MOST) return UNNAMED;
    const name = `plant_store_${names.size + 1}`;
    names.set(sql, name);
    return name;
  };
}
