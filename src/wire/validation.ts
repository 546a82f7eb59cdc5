import type { Static, TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { KEYWORD_NAMES, type KeywordName, keywords } from './primitives.js';

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

/** One thing wrong with a value, in the shape and the words of AJV's errors, which clients of the service read. */
export interface SchemaError {
  readonly keyword: string;
  /** JSON pointer into the value. */
  readonly instancePath: string;
  /** JSON pointer into the schema, from `#`. */
  readonly schemaPath: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly message: string;
}

/** The part of JSON Schema that the wire's schemas use. */
export interface SchemaNode extends Readonly<Partial<Record<KeywordName, true>>> {
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly SchemaNode[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly items?: SchemaNode;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean;
  readonly properties?: Readonly<Record<string, SchemaNode>>;
}

/** The keywords of each type, in AJV's order. */
const KEYWORDS_OF = {
  number: ['maximum', 'minimum', 'exclusiveMinimum', ...KEYWORD_NAMES],
  string: ['maxLength', 'minLength', 'pattern', ...KEYWORD_NAMES],
  array: ['maxItems', 'minItems', 'items'],
  object: ['required', 'additionalProperties', 'properties'],
} as const;

const UNTYPED = ['const', 'enum', 'anyOf'];
const ANNOTATIONS = ['type', 'title', 'description', 'examples', 'default', '~kind', '~refine', '~unsafe', '~optional'];
const UNDERSTOOD = new Set<string>([...Object.values(KEYWORDS_OF).flat(), ...UNTYPED, ...ANNOTATIONS]);

/** Throws when a schema uses what `explain` knows nothing of: a schema error is a bug, found when it is compiled. */
function assertUnderstood(schema: SchemaNode): void {
  const unknown = Object.keys(schema).filter((keyword) => !UNDERSTOOD.has(keyword));
  if (unknown.length > 0) throw new Error(`schema keywords without an explanation: ${unknown.join(', ')}`);
  const children = [...(schema.anyOf ?? []), ...Object.values(schema.properties ?? {})];
  if (schema.items !== undefined) children.push(schema.items);
  children.forEach(assertUnderstood);
}

/**
 * Says what is wrong with `value`: the first `limit` of the errors that AJV gives with `allErrors`, in its order and
 * words. TypeBox decides whether a value is good; its own errors differ (missing fields lumped into one, an array's
 * size after its items) and do not stop early, which a hostile body of a megabyte would make expensive.
 */
export function explain(schema: SchemaNode, value: unknown, limit: number): SchemaError[] {
  const errors: SchemaError[] = [];
  new Explanation(errors, limit).visit(schema, value, '', '#');
  return errors;
}

class Explanation {
  readonly #errors: SchemaError[];
  readonly #limit: number;

  constructor(errors: SchemaError[], limit: number) {
    this.#errors = errors;
    this.#limit = limit;
  }

  visit(schema: SchemaNode, value: unknown, instancePath: string, schemaPath: string): void {
    const report: Report = (keyword, params, message) => {
      if (this.#full()) return;
      this.#errors.push({ keyword, instancePath, schemaPath: `${schemaPath}/${keyword}`, params, message });
    };
    const { type } = schema;
    const wrongType = type !== undefined && !isOfType(type, value);
    // AJV checks the type first, but for a type with keywords of its own only in their turn, after those of no type.
    const typeComesFirst = type !== undefined && !hasKeywordsOf(type, schema);
    if (wrongType && typeComesFirst) report('type', { type }, `must be ${type}`);
    this.#untyped(schema, value, instancePath, schemaPath, report);
    if (typeof value === 'number' && Number.isFinite(value)) explainNumber(schema, value, report);
    if (typeof value === 'string') explainString(schema, value, report);
    if (Array.isArray(value)) this.#array(schema, value, instancePath, schemaPath, report);
    else if (isObject(value)) this.#object(schema, value, instancePath, schemaPath, report);
    if (wrongType && !typeComesFirst) report('type', { type }, `must be ${type}`);
  }

  #full(): boolean {
    return this.#errors.length >= this.#limit;
  }

  #untyped(schema: SchemaNode, value: unknown, instancePath: string, schemaPath: string, report: Report): void {
    if (schema.const !== undefined && value !== schema.const) {
      report('const', { allowedValue: schema.const }, 'must be equal to constant');
    }
    if (schema.enum !== undefined && !schema.enum.includes(value)) {
      report('enum', { allowedValues: schema.enum }, 'must be equal to one of the allowed values');
    }
    if (schema.anyOf === undefined) return;
    const failures: SchemaError[] = [];
    for (const [index, branch] of schema.anyOf.entries()) {
      const errors: SchemaError[] = [];
      new Explanation(errors, this.#limit).visit(branch, value, instancePath, `${schemaPath}/anyOf/${index}`);
      if (errors.length === 0) return;
      failures.push(...errors);
    }
    this.#errors.push(...failures.slice(0, this.#limit - this.#errors.length));
    report('anyOf', {}, 'must match a schema in anyOf');
  }

  #array(schema: SchemaNode, value: unknown[], instancePath: string, schemaPath: string, report: Report): void {
    const { maxItems, minItems, items } = schema;
    if (maxItems !== undefined && value.length > maxItems) {
      report('maxItems', { limit: maxItems }, `must NOT have more than ${maxItems} items`);
    }
    if (minItems !== undefined && value.length < minItems) {
      report('minItems', { limit: minItems }, `must NOT have fewer than ${minItems} items`);
    }
    if (items === undefined) return;
    for (let index = 0; index < value.length && !this.#full(); index++) {
      this.visit(items, value[index], `${instancePath}/${index}`, `${schemaPath}/items`);
    }
  }

  #object(schema: SchemaNode, value: JsonObject, instancePath: string, schemaPath: string, report: Report): void {
    const { required = [], properties = {} } = schema;
    for (const name of required) {
      if (value[name] === undefined) {
        report('required', { missingProperty: name }, `must have required property '${name}'`);
      }
    }
    if (schema.additionalProperties === false) {
      for (const name in value) {
        if (this.#full()) return;
        if (Object.hasOwn(properties, name)) continue;
        report('additionalProperties', { additionalProperty: name }, 'must NOT have additional properties');
      }
    }
    for (const [name, property] of Object.entries(properties)) {
      if (this.#full()) return;
      const inner = value[name];
      if (inner !== undefined)
        this.visit(property, inner, `${instancePath}/${name}`, `${schemaPath}/properties/${name}`);
    }
  }
}

type JsonObject = Readonly<Record<string, unknown>>;
type Report = (keyword: string, params: Readonly<Record<string, unknown>>, message: string) => void;

function explainNumber(schema: SchemaNode, value: number, report: Report): void {
  const { maximum, minimum, exclusiveMinimum } = schema;
  if (maximum !== undefined && value > maximum) {
    report('maximum', { comparison: '<=', limit: maximum }, `must be <= ${maximum}`);
  }
  if (minimum !== undefined && value < minimum) {
    report('minimum', { comparison: '>=', limit: minimum }, `must be >= ${minimum}`);
  }
  if (exclusiveMinimum !== undefined && value <= exclusiveMinimum) {
    report('exclusiveMinimum', { comparison: '>', limit: exclusiveMinimum }, `must be > ${exclusiveMinimum}`);
  }
  explainKeywords(schema, value, report);
}

function explainString(schema: SchemaNode, value: string, report: Report): void {
  const { maxLength, minLength, pattern } = schema;
  if (maxLength !== undefined && codePoints(value) > maxLength) {
    report('maxLength', { limit: maxLength }, `must NOT have more than ${maxLength} characters`);
  }
  if (minLength !== undefined && codePoints(value) < minLength) {
    report('minLength', { limit: minLength }, `must NOT have fewer than ${minLength} characters`);
  }
  if (pattern !== undefined && !regExp(pattern).test(value)) {
    report('pattern', { pattern }, `must match pattern "${pattern}"`);
  }
  explainKeywords(schema, value, report);
}

function explainKeywords(schema: SchemaNode, value: string | number, report: Report): void {
  for (const keyword of KEYWORD_NAMES) {
    const applies = schema[keyword] === true && schema.type === typeof value;
    const refusal = applies ? keywords[keyword](value) : null;
    if (refusal !== null) report(keyword, refusal.params, refusal.message);
  }
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isOfType(type: string, value: unknown): boolean {
  switch (type) {
    case 'null':
      return value === null;
    case 'array':
      return Array.isArray(value);
    case 'object':
      return isObject(value);
    case 'integer':
      return Number.isInteger(value);
    case 'number':
      return Number.isFinite(value);
    default:
      return typeof value === type;
  }
}

function hasKeywordsOf(type: string, schema: SchemaNode): boolean {
  const own: readonly string[] = type in KEYWORDS_OF ? KEYWORDS_OF[type as keyof typeof KEYWORDS_OF] : [];
  return own.some((keyword) => keyword in schema);
}

/** JSON Schema counts characters, not UTF-16 units. */
function codePoints(value: string): number {
  let count = 0;
  for (let index = 0; index < value.length; index++) {
    const unit = value.codePointAt(index) ?? 0;
    if (unit > 0xffff) index++;
    count++;
  }
  return count;
}

const regExps = new Map<string, RegExp>();

/** The patterns are those of the schemas, so the cache stays small. */
function regExp(pattern: string): RegExp {
  let compiled = regExps.get(pattern);
  if (compiled === undefined) {
    compiled = new RegExp(pattern, 'u');
    regExps.set(pattern, compiled);
  }
  return compiled;
}
