import type { ReadText } from '../config/settings.js';

/** What a command reaches of the world outside; tests hand in their own. */
export interface CommandIo {
  /** Writes a line to the standard output: what was asked for, and nothing else. */
  out(line: string): void;
  /** Writes a line to the standard error: what people should know besides. */
  err(line: string): void;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly readText: ReadText;
}

export interface Command {
  readonly name: string;
  /** One line of the overview. */
  readonly summary: string;
  /** What `--help` prints. */
  readonly help: string;
  /** `words`: what follows the command's name. Resolves to the exit code. */
  run(words: readonly string[], io: CommandIo): Promise<number>;
}

export const EXIT_OK = 0;
export const EXIT_FAILED = 1;
/** The command line or the settings are wrong: nothing was tried. */
export const EXIT_USAGE = 2;

/** The command line is wrong; the message says how to put it right. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
