import { resolve } from 'node:path';

/** Where the service keeps what it makes for itself: its data, without a database of the user's, and an access token. */
export const LOCAL_DIRECTORY = resolve('.data');
