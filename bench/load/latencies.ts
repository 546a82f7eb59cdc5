import { build, type Histogram } from 'hdr-histogram-js';
import type { LatencyCurve } from '../scenario.js';

const PERCENTILES = [0, 25, 50, 75, 90, 95, 99, 99.5, 99.9, 99.95, 99.99] as const;

/** Latencies in microseconds by percentile. */
export type Percentiles = LatencyCurve['points'];

/** An HDR histogram of microseconds, three digits of each value kept. */
export class Latencies {
  readonly #histogram: Histogram = build({
    lowestDiscernibleValue: 1,
    highestTrackableValue: 600_000_000,
    numberOfSignificantValueDigits: 3,
  });

  record(micros: number): void {
    this.#histogram.recordValue(Math.max(1, Math.round(micros)));
  }

  percentiles(): Percentiles {
    return PERCENTILES.map((percentile) => ({
      percentile,
      micros: this.#histogram.getValueAtPercentile(percentile),
    }));
  }
}

export function microsAt(points: Percentiles, percentile: (typeof PERCENTILES)[number]): number {
  return points.find((point) => point.percentile === percentile)?.micros ?? NaN;
}
