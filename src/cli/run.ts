import { Progress, progressText } from '../app/progress.js';
import { nearest, type ReadText } from '../config/settings.js';
import type { Logger } from '../persistence/disk/disk.js';
import { systemClock } from '../system/clock.js';

/**
 * The words with a command in front: `commands[0]` where none is given, or flags alone, so that `npx quotebook` serves
 * the local set-up.
 */
export function withCommand(
  words: readonly string[],
  commands: readonly [CliCommand, ...CliCommand[]],
): [string, ...string[]] {
  const [first, ...rest] = words;
  if (first === undefined) return [commands[0].name];
  const isCommand = !first.startsWith('-') || first === '--version' || isHelp(first);
  return isCommand ? [first, ...rest] : [commands[0].name, ...words];
}

/** Finds the command that the first word names and runs it. Resolves to the exit code; never rejects. */
export async function runCommand(
  words: readonly string[],
  commands: readonly [CliCommand, ...CliCommand[]],
  version: string,
  io: CommandIo,
): Promise<number> {
  const [first, ...rest] = withCommand(words, commands);
  if (first === '--version') {
    io.out(version);
    return EXIT_OK;
  }
  if (first === 'help' || isHelp(first)) {
    io.out(overview(commands));
    return EXIT_OK;
  }
  const command = commands.find(({ name }) => name === first);
  if (command === undefined) {
    const names = commands.map(({ name }) => name);
    const meant = nearest(first, [...names, '--help', '--version']);
    io.err(`quotebook: unknown command ${first}${meant === null ? '' : `: did you mean ${meant}?`}`);
    io.err(`Commands: ${names.join(', ')}. \`quotebook --help\` says more.`);
    return EXIT_USAGE;
  }
  if (rest.some(isHelp)) {
    io.out(command.help);
    return EXIT_OK;
  }
  try {
    return await command.run(rest, io, version);
  } catch (error) {
    if (!(error instanceof UsageError)) return failed(error, io);
    io.err(`quotebook ${command.name}: ${error.message}`);
    io.err(`\`quotebook ${command.name} --help\` says more.`);
    return EXIT_USAGE;
  }
}

function isHelp(word: string | undefined): boolean {
  return word === '--help' || word === '-h';
}

function overview(commands: readonly [CliCommand, ...CliCommand[]]): string {
  const width = Math.max(...commands.map(({ name }) => name.length));
  const rows = commands.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`);
  return `quotebook [COMMAND] [FLAGS]\n\n${rows.join('\n')}\n\nWithout a command: ${commands[0].name}. quotebook COMMAND --help says more. quotebook --version prints the version.`;
}

function failed(error: unknown, io: CommandIo): number {
  const seen = new Set<unknown>();
  for (let cause = error; cause instanceof Error && !seen.has(cause); cause = cause.cause) {
    io.err(seen.size === 0 ? `quotebook: ${cause.message}` : `  because: ${cause.message}`);
    seen.add(cause);
  }
  if (seen.size === 0) io.err(`quotebook: ${String(error)}`);
  return EXIT_FAILED;
}

/** A command's input and output; tests pass their own. */
export interface CommandIo {
  /** Writes a line to the standard output: what was asked for, and nothing else. */
  out(line: string): void;
  /** Writes a line to the standard error: what people should know besides. */
  err(line: string): void;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly readText: ReadText;
  /** Replaces the last line of a terminal; absent if standard error is no terminal. '' takes the line away. */
  readonly showStatus?: (text: string) => void;
}

export interface CliCommand {
  readonly name: string;
  /** One line of the overview. */
  readonly summary: string;
  /** Text of `--help`. */
  readonly help: string;
  /** `words`: what follows the command's name. Resolves to the exit code. */
  run(words: readonly string[], io: CommandIo, version: string): Promise<number>;
}

export const EXIT_OK = 0;
export const EXIT_FAILED = 1;
/** The command line or the settings are wrong: nothing was tried. */
export const EXIT_USAGE = 2;

/** The command line is wrong; the message says how to put it right. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Rows of cells, padded so that each column begins at one place, or on the `right` ends there. */
export function columns(rows: readonly (readonly string[])[], align: 'left' | 'right' = 'left'): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const pad = (cell: string, width = 0): string => (align === 'left' ? cell.padEnd(width) : cell.padStart(width));
  const line = (row: readonly string[]): string => row.map((cell, column) => pad(cell, widths[column])).join('  ');
  return rows.map((row) => line(row).trimEnd());
}

/** A logger that writes to standard error. */
export function toIo(io: CommandIo): Logger {
  const tell = (details: object, message: string): void => io.err(`${message} ${JSON.stringify(details)}`);
  return { info: tell, warn: tell, error: tell };
}

/** Shows progress in the terminal that standard error is, or as lines. */
export function progressOf(io: CommandIo): Progress {
  return new Progress({ line: (state) => io.err(progressText(state)), status: io.showStatus }, systemClock);
}
