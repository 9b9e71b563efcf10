/** The header of what may be sent again soon. */
export const RETRY_LATER = { 'Retry-After': '1' };
