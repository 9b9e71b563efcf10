/** Injection token of the `ErrorStatus` in force. */
export const ERROR_STATUS = Symbol('ERROR_STATUS');
