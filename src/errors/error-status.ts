import type { ErrorNumber } from './error-catalogue.js';

/** `contract` answers every failure with 400; `semantic` with the status that the error number begins with. */
export type ErrorStatus = 'contract' | 'semantic';

export function statusOf(error: ErrorNumber, errorStatus: ErrorStatus): number {
  switch (errorStatus) {
    case 'contract':
      return 400;
    case 'semantic':
      return Math.trunc(error / 100);
  }
}
