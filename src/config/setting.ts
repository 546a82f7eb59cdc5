import Type from 'typebox';
import type { TSchema } from 'typebox';

/** One setting: what it takes, what it is when nobody sets it, and what is said of it in the documentation. */
export interface Setting<S extends TSchema = TSchema, D = unknown> {
  readonly schema: S;
  readonly default: D;
  /** What to give, in words: ends the message about a wrong value. */
  readonly form: string;
  readonly about: string;
  /** `all`: never shown. `url`: shown up to its host, since providers put their keys behind it. */
  readonly secret: 'all' | 'url' | null;
  /** False: not taken from the command line, which every user of the machine can read. */
  readonly flag: boolean;
  /** What its schema cannot say of a value, or of each in a list. */
  readonly isRight: (value: string) => boolean;
}

type Extras = Partial<Pick<Setting, 'secret' | 'flag' | 'isRight'>>;

export function setting<const S extends TSchema, const D>(
  schema: S,
  defaultValue: D,
  form: string,
  about: string,
  { secret = null, flag = true, isRight = () => true }: Extras = {},
): Setting<S, D> {
  return { schema, default: defaultValue, form, about, secret, flag, isRight };
}

export function oneOf<const V extends string>(values: readonly V[], defaultValue: V, about: string) {
  const schema = Type.Unsafe<V>(Type.Enum([...values], { type: 'string' }));
  return setting(schema, defaultValue, `one of ${values.join(', ')}`, about);
}

export function integer(minimum: number, maximum: number, defaultValue: number, about: string) {
  const form = `a whole number from ${minimum} to ${maximum}`;
  return setting(Type.Integer({ minimum, maximum }), defaultValue, form, about);
}
