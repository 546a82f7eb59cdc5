import { PackedQuote } from '../../src/engine/packed-quote.js';

/** Fields in the order of their names, each as it is written; by the names as an object has them. */
const orders = new Map<string, readonly (readonly [name: string, text: string])[]>();

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
  return `{${inOrder(Object.keys(fields))
    .map(([name, text]) => `${text}:${canonicalText(fields[name])}`)
    .join()}}`;
}

function inOrder(names: readonly string[]): readonly (readonly [name: string, text: string])[] {
  const key = names.join();
  let order = orders.get(key);
  if (order === undefined) {
    order = names.toSorted().map((name) => [name, JSON.stringify(name)]);
    orders.set(key, order);
  }
  return order;
}
