import type { TSchema } from 'typebox';
import { KEYWORD_NAMES } from '../wire/primitives.js';

type Json = unknown;

/** What only this program knows. Readers of the documents refuse it, or pass it over: descriptions say the same. */
const OWN_KEYWORDS: ReadonlySet<string> = new Set(KEYWORD_NAMES);

/**
 * Schemas that have a name, written once each: wherever one stands in another, a reference takes its place. They are
 * known by what they say, since the schema library copies some when it nests them.
 */
export class Components {
  readonly #nameOf = new Map<string, string>();
  readonly #schemas: Readonly<Record<string, TSchema>>;

  constructor(schemas: Readonly<Record<string, TSchema>>) {
    this.#schemas = schemas;
    for (const [name, schema] of Object.entries(schemas)) this.#nameOf.set(JSON.stringify(schema), name);
  }

  /** The schema, or a reference where it has a name. */
  refer(schema: TSchema): Json {
    return this.#rewrite(JSON.parse(JSON.stringify(schema)), false);
  }

  /** All of them, by name. */
  definitions(): Record<string, Json> {
    const entries = Object.entries(this.#schemas);
    return Object.fromEntries(
      entries.map(([name, schema]) => [name, this.#rewrite(JSON.parse(JSON.stringify(schema)), true)]),
    );
  }

  #rewrite(value: Json, isDefinition: boolean): Json {
    if (typeof value !== 'object' || value === null) return value;
    const name = isDefinition ? undefined : this.#nameOf.get(JSON.stringify(value));
    if (name !== undefined) return { $ref: `#/components/schemas/${name}` };
    if (Array.isArray(value)) return value.map((item) => this.#rewrite(item, false));
    const entries = Object.entries(value).filter(([key, item]) => !(OWN_KEYWORDS.has(key) && item === true));
    return Object.fromEntries(entries.map(([key, item]) => [key, this.#rewrite(item, false)]));
  }
}
