import pino from 'pino';
import type { ServiceOptions } from '../../src/app/service-options.js';
import { systemClock, systemRandom } from '../../src/system/clock.js';

/** Options of every measured service: a port of loopback, no metrics, no past, and an end at the first fault. */
export const plainOptions = {
  history: null,
  clock: systemClock,
  random: systemRandom,
  host: '127.0.0.1',
  port: 0,
  netBackend: 'auto',
  corsOrigins: ['*'],
  logger: pino({ level: 'warn' }),
  metrics: null,
  onFault(error: unknown): never {
    throw error;
  },
} satisfies Partial<ServiceOptions>;
