import type { Static, TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { assertUnderstood, explain, type SchemaError, type SchemaNode } from './explain.js';

export type CheckResult<T> =
  { readonly ok: true; readonly value: T } | { readonly ok: false; readonly errors: readonly SchemaError[] };

/** Checks one value; `errors` holds the first of what is wrong, at least one and at most as many as were asked for. */
export type Check<T> = (value: unknown) => CheckResult<T>;

/** Compiles a schema once. `maxErrors`: how many errors a refusal lists, from 1. */
export function compile<const S extends TSchema>(schema: S, maxErrors: number): Check<Static<S>> {
  const node = schema as SchemaNode;
  assertUnderstood(node);
  const validator = Compile(schema);
  return (value) => {
    if (validator.Check(value)) return { ok: true, value };
    return { ok: false, errors: explain(node, value, maxErrors) };
  };
}
