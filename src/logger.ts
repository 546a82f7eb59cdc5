import pino, { type Logger } from 'pino';
import pretty from 'pino-pretty';
import { limits } from './config/limits.js';
import type { Settings } from './config/setting-table.js';

/** Fields that must not reach a log, wherever they stand. */
const SECRETS = ['apiKey', 'key', 'privateKey', 'walletKey', '["x-apikey"]'];
export const redaction = {
  paths: SECRETS.flatMap((name) => [name, name.startsWith('[') ? `*${name}` : `*.${name}`]),
  censor: '[secret]',
};

/**
 * The text log on standard error: readable in a terminal, one JSON object a line elsewhere. A volume that has no room
 * for it stops nothing: lines wait for room, as many as may.
 */
export function openLogger(
  level: Settings['logLevel'],
  format: Settings['logFormat'],
  descriptor = STANDARD_ERROR,
): Logger {
  const lines = pino.destination({ dest: descriptor, sync: true, maxLength: limits.textLogWaitingBytes });
  // What is not listened to would be thrown, by whoever has something to log.
  lines.on('error', () => undefined);
  const isPretty = format === 'pretty' || (format === 'auto' && process.stderr.isTTY);
  const options = { level, redact: redaction };
  if (!isPretty) return pino(options, lines);
  const inWords = pretty.prettyFactory({ ignore: 'pid,hostname', translateTime: 'HH:MM:ss.l' });
  return pino(options, { write: (line: string) => void lines.write(inWords(line)) });
}

const STANDARD_ERROR = 2;
