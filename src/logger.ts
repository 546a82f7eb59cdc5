import pino, { type Logger } from 'pino';
import pretty from 'pino-pretty';
import type { Settings } from './config/setting-table.js';

/** Fields that must not reach a log, wherever they stand. */
const SECRETS = ['apiKey', '*.apiKey', 'privateKey', '*.privateKey', 'walletKey', '*.walletKey', '*["x-apikey"]'];

/** The text log on standard error: readable in a terminal, one JSON object a line elsewhere. */
export function openLogger(level: Settings['logLevel'], format: Settings['logFormat']): Logger {
  const isPretty = format === 'pretty' || (format === 'auto' && process.stderr.isTTY);
  const options = { level, redact: { paths: SECRETS, censor: '[secret]' } };
  if (!isPretty) return pino(options, pino.destination({ dest: 2, sync: true }));
  return pino(options, pretty({ destination: 2, sync: true, ignore: 'pid,hostname', translateTime: 'HH:MM:ss.l' }));
}
