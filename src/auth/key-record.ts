import Type, { type Static } from 'typebox';
import { compile } from '../wire/validation.js';

export const TIERS = ['free', 'paid'] as const;
export const Tier = Type.Enum([...TIERS], { type: 'string' });
export type Tier = Static<typeof Tier>;

/** What is kept of a key: never the key itself. */
export const KeyRecord = Type.Object(
  {
    id: Type.String({ pattern: '^[0-9a-f]{16}$' }),
    /** HMAC-SHA-256 of the key under the store's secret, in hex. */
    hash: Type.String({ pattern: '^[0-9a-f]{64}$' }),
    tier: Tier,
    label: Type.String(),
    /** ISO 8601, for people to read. */
    createdAt: Type.String(),
    revokedAt: Type.Optional(Type.String()),
  },
  { additionalProperties: false },
);
export type KeyRecord = Static<typeof KeyRecord>;

const Ledger = Type.Object(
  { version: Type.Literal(1), keys: Type.Array(KeyRecord) },
  { additionalProperties: false, description: 'Content of the file that the keys are kept in.' },
);

const checkLedger = compile(Ledger, 3);

/** Throws when the text is no ledger of this version. */
export function parseLedger(text: string | null, fileName: string): KeyRecord[] {
  if (text === null) return [];
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch (error) {
    throw new Error(`${fileName} is not JSON`, { cause: error });
  }
  const result = checkLedger(content);
  if (result.ok) return result.value.keys;
  const wrong = result.errors.map(({ instancePath, message }) => `${instancePath || '/'} ${message}`);
  throw new Error(`${fileName} is not a list of keys that this version reads: ${wrong.join('; ')}`);
}

export function formatLedger(keys: readonly KeyRecord[]): string {
  return `${JSON.stringify({ version: 1, keys }, null, 2)}\n`;
}
