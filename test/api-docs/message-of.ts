import type { ErrorDoc } from '../../src/api-docs/errors.js';

/** Whether a text is what the document says. */
export function isMessageOf({ message }: Pick<ErrorDoc, 'message'>, text: string): boolean {
  const parts = message.split(/\{\w+\}/).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.+')}$`).test(text);
}
