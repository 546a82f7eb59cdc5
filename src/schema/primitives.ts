import Type from 'typebox';
import type { TSchema, TUnsafe } from 'typebox';
import { UINT256_DIGITS } from './decimal.js';
import { keywords, type KeywordName } from './keywords.js';

/** An object of exactly these fields: an unknown one is refused. */
export function closed<const P extends Record<string, TSchema>>(properties: P, options: Record<string, unknown> = {}) {
  return Type.Object(properties, { ...options, additionalProperties: false });
}

/** A text that matches `pattern`; `T` says what such a text is. */
export function text<T extends string>(pattern: string, description: string, options: Record<string, unknown> = {}) {
  return Type.Unsafe<T>(Type.String({ pattern, description, ...options }));
}

/** Adds a keyword of `keywords.ts` to a schema, for the compiled check and for those who read the schema. */
function withKeyword<T>(schema: TUnsafe<T>, keyword: KeywordName): TUnsafe<T> {
  const refuse = keywords[keyword];
  return Type.Refine(Object.assign(schema, { [keyword]: true }), (value) => refuse(value as string | number) === null);
}

/** The alternatives are patterns, not enums: clients compare the text of the refusal. */
export const ChainId = text<string>('^42161$|^421613$', 'Settlement chain.');

/**
 * `schema`, or anything that holds schemas, as a server of the settlement chain `chainId` has it: one of a chain other
 * than the protocol's two accepts its own id alone.
 */
export function onChain<T>(schema: T, chainId: string): T {
  const { pattern: protocol } = ChainId as unknown as { readonly pattern: string };
  return new RegExp(protocol).test(chainId) ? schema : (withPattern(schema, protocol, `^${chainId}$`) as T);
}

/** A deep copy with another pattern in place of `pattern`. */
function withPattern(value: unknown, pattern: string, other: string): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => withPattern(item, pattern, other));
  // TypeBox marks its schemas by properties that are not enumerable.
  const properties = Object.entries(Object.getOwnPropertyDescriptors(value)).map(([name, descriptor]) => {
    const inner: unknown = descriptor.value;
    return [
      name,
      { ...descriptor, value: name === 'pattern' && inner === pattern ? other : withPattern(inner, pattern, other) },
    ] as const;
  });
  return Object.defineProperties({}, Object.fromEntries(properties));
}
export const Side = text<'bid' | 'ask'>('^bid$|^ask$', "The book's side: `ask` to buy from, `bid` to sell to.");
export const Address = text<`0x${string}`>('^0x[a-fA-F0-9]{40}$', 'Address, in any letter case.');
export const Hash = text<`0x${string}`>('^0x[a-fA-F0-9]{64}$', '32 bytes.');

export const Uint256 = withKeyword(
  text<string>('^[0-9]+$', 'Whole number of smallest units (1e-18), at most 2^256 - 1.', { maxLength: UINT256_DIGITS }),
  'uint256',
);

/** Above 2^53 - 1 a JSON number stops being exact. */
export const SafeUint = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
export const UnixSeconds = Type.Integer({
  minimum: 0,
  maximum: Number.MAX_SAFE_INTEGER,
  description: 'Unix time in seconds.',
});
/** The same from clients that serialise 64-bit integers as text. Longer texts exceed the maximum. */
export const UnixSecondsText = withKeyword(
  text<string>('^[0-9]+$', 'Unix time in seconds, in decimal digits, at most 2^53 - 1.', { maxLength: 16 }),
  'safeUint',
);
export const Uint8 = Type.Integer({ minimum: 0, maximum: 255 });

/** Token amounts and strikes of the option routes, in whole tokens. */
export const DecimalText = withKeyword(
  withKeyword(text<string>('^[0-9]{1,}([.][0-9]*)?$', 'Decimal number above 0, at most 18 decimals.'), 'fixed18'),
  'positive',
);
export const DecimalNumber = withKeyword(
  Type.Unsafe<number>(Type.Number({ exclusiveMinimum: 0, description: 'Number above 0, at most 18 decimals.' })),
  'fixed18',
);

export const OptionType = text<'C' | 'P'>('^C$|^P$', 'Call or put.');
export const Direction = text<'buy' | 'sell'>('^buy$|^sell$', "The caller's side of the trade.");
export const Expiration = text<string>('^\\d\\d\\w\\w\\w\\d\\d$', 'Day, month, year, such as 03NOV23: 08:00 UTC.');
