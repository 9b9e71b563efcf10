/** Where PostgreSQL is told, with `NOTIFY`, that access tokens were created, changed or revoked. */
export const TOKEN_CHANNEL = 'plant_store_access_tokens';
