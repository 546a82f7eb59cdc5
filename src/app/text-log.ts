import pino, { type Logger } from 'pino';
import pretty from 'pino-pretty';
import { limits } from '../config/limits.js';
import type { Settings } from '../config/setting-table.js';
import { StatusLine } from './progress.js';

/** Fields that must not reach a log: of the line itself, and of each object in it. */
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
  status: StatusLine | null = null,
): Logger {
  const lines = pino.destination({ dest: descriptor, sync: true, maxLength: limits.textLogWaitingBytes });
  // A stream without an error listener throws in the code that logs.
  lines.on('error', () => undefined);
  const isPretty = format === 'pretty' || (format === 'auto' && process.stderr.isTTY);
  const options = { level, redact: redaction };
  if (!isPretty) return pino(options, lines);
  const inWords = pretty.prettyFactory({ ignore: 'pid,hostname', translateTime: 'HH:MM:ss.l' });
  const write = (line: string): void => {
    const words = inWords(line);
    lines.write(status?.above(words) ?? words);
  };
  return pino(options, { write });
}

const STANDARD_ERROR = 2;

/** Below the text log, where that is readable and goes to a terminal; null elsewhere. */
export function openStatusLine(format: Settings['logFormat']): StatusLine | null {
  if (format === 'json' || !process.stderr.isTTY) return null;
  return new StatusLine((text) => process.stderr.write(text));
}
