import { positiveNumber } from '../option-numbers.js';

/** How long, and how often, each target is measured. */
export interface MeasuringTime {
  readonly rounds: number;
  readonly seconds: number;
  readonly warmUpSeconds: number;
}

/** As the options say it. */
export function measuringTime(values: { rounds: string; seconds: string; 'warm-up': string }): MeasuringTime {
  return {
    rounds: positiveNumber('--rounds', values.rounds),
    seconds: positiveNumber('--seconds', values.seconds),
    warmUpSeconds: positiveNumber('--warm-up', values['warm-up']),
  };
}
