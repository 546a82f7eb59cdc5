import { PackedQuote } from '../../src/engine/packed-quote.js';

/**
 * The same text for equal values, in whatever order the fields of their objects are, and whether quotes are packed: what
 * is read from a log differs in both.
 */
export function canonicalText(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value !== 'object' || value === null) return String(value);
  if (Array.isArray(value)) return `[${value.map(canonicalText).join()}]`;
  const fields = (value instanceof PackedQuote ? value.toJSON() : value) as Readonly<Record<string, unknown>>;
  const names = Object.keys(fields).sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonicalText(fields[name])}`).join()}}`;
}
