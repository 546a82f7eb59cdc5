import type { SchemaError } from '../schema/explain.js';

export type JsonBody =
  { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly errors: readonly SchemaError[] };

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** The body as JSON (RFC 8259: UTF-8); its size was bounded before it came here. */
export function readJson(body: Uint8Array): JsonBody {
  try {
    return { ok: true, value: JSON.parse(utf8.decode(body)) };
  } catch {
    const errors = [
      { keyword: 'json', instancePath: '', schemaPath: '#', params: {}, message: 'must be JSON' } satisfies SchemaError,
    ];
    return { ok: false, errors };
  }
}
