import type { ErrorDoc } from '../../src/api-docs/errors.js';

/** By the message of the document. */
const patterns = new Map<string, RegExp>();

/** Whether a text is what the document says. */
export function isMessageOf({ message }: Pick<ErrorDoc, 'message'>, text: string): boolean {
  let pattern = patterns.get(message);
  if (pattern === undefined) {
    const parts = message.split(/\{\w+\}/).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
    patterns.set(message, (pattern = new RegExp(`^${parts.join('.+')}$`)));
  }
  return pattern.test(text);
}
