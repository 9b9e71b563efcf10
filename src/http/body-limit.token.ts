/** Injection token of the number of bytes that a decoded request body may have. */
export const BODY_LIMIT = Symbol('BODY_LIMIT');
