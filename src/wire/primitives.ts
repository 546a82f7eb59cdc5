import Type, { type Static, type TSchema, type TUnsafe } from 'typebox';

/** Why a text is no amount: not a number at all, more decimals than the unit has, or above 2^256 - 1 units. */
export type DecimalRefusal = 'NOT_A_NUMBER' | 'TOO_PRECISE' | 'TOO_LARGE';

export const MAX_UINT256 = 2n ** 256n - 1n;

/** Digits of 2^256 - 1: no longer number is ever built, whatever exponent it was written with. */
const UINT256_DIGITS = 78;

const NUMBER = /^(-?)([0-9]+)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]+))?$/;

/**
 * Reads a decimal number, with or without an exponent, as a whole number of units of 10^-`decimals`. Digit by digit:
 * no float is involved, so what was written is what is meant. Decimals count as written, trailing zeros too.
 */
export function parseDecimal(text: string, decimals: number): bigint | DecimalRefusal {
  const match = NUMBER.exec(text);
  if (match === null) return 'NOT_A_NUMBER';
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = match;
  const shift = decimals + Number(exponent) - fraction.length;
  if (shift < 0) return 'TOO_PRECISE';
  const digits = (whole + fraction).replace(/^0+/, '');
  if (digits === '') return 0n;
  if (digits.length + shift > UINT256_DIGITS) return 'TOO_LARGE';
  const units = BigInt(digits) * 10n ** BigInt(shift);
  if (units > MAX_UINT256) return 'TOO_LARGE';
  return sign === '-' ? -units : units;
}

/** The exact decimal text of `units` of 10^-`decimals`: no exponent, no trailing zeros, valid as a JSON number. */
export function formatDecimal(units: bigint, decimals: number): string {
  const sign = units < 0n ? '-' : '';
  const digits = String(units < 0n ? -units : units).padStart(decimals + 1, '0');
  const whole = digits.slice(0, digits.length - decimals);
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, '');
  return fraction === '' ? sign + whole : `${sign}${whole}.${fraction}`;
}

/**
 * Whether a JSON number keeps its value as an ECMAScript number: the shortest text of that number, which stands for it
 * ever after, is the same decimal. Or the text is that number with 17 significant digits, as `%.17g` and .NET write
 * every double: its sender means the double. One that is too large for any number is not this question's: it becomes
 * Infinity.
 */
export function isExactNumber(text: string): boolean {
  const read = Number(text);
  if (!Number.isFinite(read)) return true;
  const written = significandOf(text);
  return written === significandOf(String(read)) || written === significandOf(read.toPrecision(17));
}

/** Digits and exponent of a decimal number without its sign, the same for all ways to write it. */
function significandOf(text: string): string {
  const [, , whole = '', fraction = '', exponent = '0'] = NUMBER.exec(text) ?? [];
  const digits = (whole + fraction).replace(/^0+/, '');
  // Not by /0+$/: it takes quadratic time for many zeros with another digit behind them.
  let length = digits.length;
  while (digits[length - 1] === '0') length--;
  if (length === 0) return '0';
  return `${digits.slice(0, length)}e${Number(exponent) - fraction.length + digits.length - length}`;
}

/** Error of a keyword of our own, in the shape of AJV's errors. */
export interface KeywordRefusal {
  readonly params: Readonly<Record<string, unknown>>;
  readonly message: string;
}

export const KEYWORD_NAMES = ['uint256', 'fixed18', 'positive', 'safeUint'] as const;
export type KeywordName = (typeof KEYWORD_NAMES)[number];

/**
 * Keywords beyond JSON Schema's own. They judge only what the schema's other keywords let pass (a text that is no
 * number at all is the pattern's business) and answer null when there is nothing to say.
 */
export const keywords: Readonly<Record<KeywordName, (value: string | number) => KeywordRefusal | null>> = {
  /** A whole number in decimal digits, at most 2^256 - 1. */
  uint256(value) {
    const text = String(value);
    if (text.length < UINT256_DIGITS) return null;
    const units = parseDecimal(text, 0);
    return units === 'TOO_LARGE' ? tooLarge(MAX_UINT256.toString()) : null;
  },
  /**
   * A decimal number that is a whole number of 1e-18 units and fits in 256 bits. For a JSON number stands its shortest
   * text (ECMAScript `Number::toString`, which reads back as the same number): so 0.1 is a tenth, and no float is
   * computed with.
   */
  fixed18(value) {
    const units = parseDecimal(String(value), 18);
    if (units === 'TOO_LARGE') return tooLarge(formatDecimal(MAX_UINT256, 18));
    if (units === 'TOO_PRECISE') return { params: { limit: 18 }, message: 'must NOT have more than 18 decimals' };
    return null;
  },
  /** A decimal text that says a number above zero: some digit of it is not 0. */
  positive(value) {
    return /^[0.]+$/.test(String(value)) ? { params: { comparison: '>', limit: 0 }, message: 'must be > 0' } : null;
  },
  /** A whole number in decimal digits, at most 2^53 - 1: it becomes a JSON number, which is not exact above that. */
  safeUint(value) {
    return Number(value) > Number.MAX_SAFE_INTEGER ? tooLarge(String(Number.MAX_SAFE_INTEGER)) : null;
  },
};

function tooLarge(limit: string): KeywordRefusal {
  return { params: { comparison: '<=', limit }, message: `must be <= ${limit}` };
}

/** An object of exactly these fields: an unknown one is refused. */
export function closed<const P extends Record<string, TSchema>>(properties: P, options: Record<string, unknown> = {}) {
  return Type.Object(properties, { ...options, additionalProperties: false });
}

/** `*` is everyone: public quotes and every taker's private ones. */
export const AddressOrAll = Type.Unsafe<`0x${string}` | '*'>(Type.String({ pattern: '^(0x[a-fA-F0-9]{40}|[*])$' }));

/** Name of an option, as `instrument` has it. */
export const InstrumentName = Type.String({
  pattern: '^[0-9A-Za-z.-]{1,250}$',
  description: 'Name of the option, such as `WETH-USDC-29JAN27-2000-C`.',
});

/** Of an option's name that an answer repeats. */
const NAME_CHARACTERS = 80;

/** Why a name is refused, on both wires. */
export function noPoolText(instrument: string): string {
  return `No deployed pool is named ${instrument.slice(0, NAME_CHARACTERS)}`;
}

/** A text that matches `pattern`; `T` says what such a text is. */
export function text<T extends string>(pattern: string, description: string, options: Record<string, unknown> = {}) {
  return Type.Unsafe<T>(Type.String({ pattern, description, ...options }));
}

/** `limit` of a query. */
export const PageLimit = text<string>('^([1-9][0-9]{0,2}|1000)$', 'Most rows of a page, 1 to 1000; 100 by default.');

/** Adds a keyword of `primitives.ts` to a schema, for the compiled check and for those who read the schema. */
function withKeyword<T>(schema: TUnsafe<T>, keyword: KeywordName): TUnsafe<T> {
  const refuse = keywords[keyword];
  return Type.Refine(Object.assign(schema, { [keyword]: true }), (value) => refuse(value as string | number) === null);
}

function decimalText(description: string): TUnsafe<string> {
  return withKeyword(text<string>('^[0-9]{1,}([.][0-9]*)?$', description), 'fixed18');
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

/** A deep copy with another pattern in place of `pattern`. `copies`: of objects that stand in several places, one each. */
function withPattern(value: unknown, pattern: string, other: string, copies = new Map<object, unknown>()): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const known = copies.get(value);
  if (known !== undefined) return known;
  const copy: object = Array.isArray(value) ? [] : {};
  copies.set(value, copy);
  for (const name of Object.getOwnPropertyNames(value)) {
    // TypeBox marks its schemas by properties that are not enumerable.
    const descriptor = Object.getOwnPropertyDescriptor(value, name);
    const inner: unknown = descriptor?.value;
    const replaced = name === 'pattern' && inner === pattern ? other : withPattern(inner, pattern, other, copies);
    Object.defineProperty(copy, name, { ...descriptor, value: replaced });
  }
  return copy;
}
export const SideText = text<'bid' | 'ask'>('^bid$|^ask$', "The book's side: `ask` to buy from, `bid` to sell to.");
export type SideText = Static<typeof SideText>;
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
export const DecimalText = withKeyword(decimalText('Decimal number above 0, at most 18 decimals.'), 'positive');
/** Sizes that a list is narrowed by. */
export const NonNegativeText = decimalText('Decimal number from 0 on, at most 18 decimals.');
export const DecimalNumber = withKeyword(
  Type.Unsafe<number>(Type.Number({ exclusiveMinimum: 0, description: 'Number above 0, at most 18 decimals.' })),
  'fixed18',
);
/** Prices are parts of what a contract can be worth at most. */
export const PriceNumber = withKeyword(
  Type.Unsafe<number>(
    Type.Number({ exclusiveMinimum: 0, maximum: 1, description: 'Above 0, at most 1, at most 18 decimals.' }),
  ),
  'fixed18',
);

export const OptionType = text<'C' | 'P'>('^C$|^P$', 'Call or put.');
export const Direction = text<'buy' | 'sell'>('^buy$|^sell$', "The caller's side of the trade.");
export const Expiration = text<string>('^\\d\\d\\w\\w\\w\\d\\d$', 'Day, month, year, such as 03NOV23: 08:00 UTC.');
