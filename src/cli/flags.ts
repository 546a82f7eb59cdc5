import { parseArgs } from 'node:util';
import { nearest } from '../config/settings.js';
import { UsageError } from './command.js';

/** Flags by name, without dashes: whether they take a value. */
export type KnownFlags = Readonly<Record<string, 'value' | 'switch'>>;

export interface ParsedWords {
  readonly values: ReadonlyMap<string, string>;
  readonly positionals: readonly string[];
}

/**
 * Reads `--name value`, `--name=value` and what is neither. Of a switch nothing is told: the only one is `--help`, which
 * is looked for before. Throws a UsageError for anything unknown.
 */
export function parseFlags(words: readonly string[], known: KnownFlags): ParsedWords {
  const names = Object.keys(known);
  const options = Object.fromEntries(
    names.map((name) => [name, { type: known[name] === 'switch' ? ('boolean' as const) : ('string' as const) }]),
  );
  const { tokens, positionals } = parseArgs({
    args: [...words],
    options,
    strict: false,
    tokens: true,
    allowPositionals: true,
  });
  const values = new Map<string, string>();
  for (const token of tokens) {
    if (token.kind !== 'option') continue;
    const kind = Object.hasOwn(known, token.name) ? known[token.name] : undefined;
    if (kind === undefined) throw new UsageError(`unknown flag ${token.rawName}${hint(token.name, names)}`);
    if (kind === 'switch') {
      if (token.value !== undefined) throw new UsageError(`--${token.name} takes no value`);
      continue;
    }
    // A flag in the value's place means that the value was forgotten; `--name=--value` says that it was not.
    if (token.value === undefined || (!token.inlineValue && token.value.startsWith('--'))) {
      throw new UsageError(`--${token.name} needs a value`);
    }
    values.set(token.name, token.value);
  }
  return { values, positionals };
}

function hint(written: string, names: readonly string[]): string {
  const meant = nearest(written, names);
  return meant === null ? '' : `: did you mean --${meant}?`;
}
