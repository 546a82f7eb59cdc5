import fc from 'fast-check';

/** The part of JSON Schema that the wire's own schemas use. */
interface Node {
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Node[];
  readonly properties?: Readonly<Record<string, Node>>;
  readonly required?: readonly string[];
  readonly items?: Node;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
}

/** Values that a schema takes, as the server writes them: hexadecimal in lower case, amounts without leading zeros. */
export function valueOf(schema: object): fc.Arbitrary<unknown> {
  const node = schema as Node;
  if (node.const !== undefined) return fc.constant(node.const);
  if (node.enum !== undefined) return fc.constantFrom(...node.enum);
  if (node.anyOf !== undefined) return fc.oneof(...node.anyOf.map(valueOf));
  switch (node.type) {
    case 'object': {
      const fields = Object.entries(node.properties ?? {}).map(([name, field]) => [name, valueOf(field)] as const);
      return fc.record<Record<string, unknown>, string>(Object.fromEntries(fields), {
        requiredKeys: [...(node.required ?? [])],
        noNullPrototype: true,
      });
    }
    case 'array':
      return fc.array(valueOf(node.items ?? {}), { maxLength: 4 });
    case 'string':
      return textOf(node);
    case 'integer':
      return fc.oneof(...[255, node.maximum ?? 255].map((max) => fc.integer({ min: node.minimum ?? 0, max })));
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    default:
      throw new Error(`no values are made of ${JSON.stringify(node)}`);
  }
}

function textOf(node: Node): fc.Arbitrary<string> {
  if ('uint256' in node) return fc.bigInt({ min: 0n, max: (1n << 256n) - 1n }).map(String);
  if (node.pattern === undefined) return fc.string({ unit: 'grapheme', maxLength: 20 });
  const [, digits] = /^\^0x\[a-fA-F0-9\]\{(\d+)\}\$$/.exec(node.pattern) ?? [];
  if (digits === undefined) return fc.stringMatching(new RegExp(node.pattern));
  const length = Number(digits) / 2;
  return fc
    .uint8Array({ minLength: length, maxLength: length })
    .map((bytes) => `0x${Buffer.from(bytes).toString('hex')}`);
}
