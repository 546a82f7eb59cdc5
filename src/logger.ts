import pino, { type Logger } from 'pino';
import pretty from 'pino-pretty';
import type { Settings } from './config/setting-table.js';

/** Fields that must not reach a log, wherever they stand. */
const SECRETS = ['apiKey', 'key', 'privateKey', 'walletKey', '["x-apikey"]'];
export const redaction = {
  paths: SECRETS.flatMap((name) => [name, name.startsWith('[') ? `*${name}` : `*.${name}`]),
  censor: '[secret]',
};

/** The text log on standard error: readable in a terminal, one JSON object a line elsewhere. */
export function openLogger(level: Settings['logLevel'], format: Settings['logFormat']): Logger {
  const isPretty = format === 'pretty' || (format === 'auto' && process.stderr.isTTY);
  const options = { level, redact: redaction };
  if (!isPretty) return pino(options, pino.destination({ dest: 2, sync: true }));
  return pino(options, pretty({ destination: 2, sync: true, ignore: 'pid,hostname', translateTime: 'HH:MM:ss.l' }));
}
