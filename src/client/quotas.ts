/** The rest of a key's quota, as the last answer said. */
export interface QuotaLeft {
  readonly left: number;
  /** How fast it returns. */
  readonly perSecond: number;
}

/** Quotas of the key by name, such as `requests` and `quotes`. */
export type Quotas = ReadonlyMap<string, QuotaLeft>;

/**
 * Reads the headers `RateLimit` and `RateLimit-Policy` of an answer (draft-ietf-httpapi-ratelimit-headers-10). A quota
 * that either of them lacks is left out.
 */
export function readQuotas(rateLimit: string | null, policy: string | null): Quotas {
  const policies = new Map(items(policy).map(({ name, q, w }) => [name, { q, w }]));
  return new Map(
    items(rateLimit).flatMap(({ name, r }) => {
      const { q, w } = policies.get(name) ?? {};
      return r === undefined || q === undefined || !w ? [] : [[name, { left: r, perSecond: q / w }] as const];
    }),
  );
}

interface Item {
  readonly name: string;
  readonly r?: number;
  readonly q?: number;
  readonly w?: number;
}

/** Members of a structured list, each a quoted name with parameters of whole numbers. */
function items(header: string | null): Item[] {
  return [...(header ?? '').matchAll(/"([^"]*)"((?:;[a-z]=\d+)*)/g)].map(([, name = '', parameters = '']): Item => {
    const pairs = [...parameters.matchAll(/;([a-z])=(\d+)/g)].map(([, key = '', value = '0']) => [key, Number(value)]);
    return { name, ...(Object.fromEntries(pairs) as Omit<Item, 'name'>) };
  });
}
