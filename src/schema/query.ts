/** Parameters of a query string; those that may repeat are arrays. */
export type Query = Readonly<Record<string, string | readonly string[]>>;

/**
 * Reads a query string (what follows `?`, still encoded) as clients of the service write it: stray `&` are skipped,
 * names and values are percent-decoded, `lists` names the parameters that are lists, written `name=a&name=b` or
 * `name[]=a&name[]=b`. Any other name that repeats also becomes an array, which its schema then refuses.
 */
export function parseQuery(text: string, lists: readonly string[] = []): Query {
  const query = Object.create(null) as Record<string, string | string[]>;
  for (const [written, value] of new URLSearchParams(text)) {
    const bare = written.endsWith('[]') ? written.slice(0, -2) : written;
    const name = lists.includes(bare) ? bare : written;
    const known = query[name];
    if (Array.isArray(known)) known.push(value);
    else if (known !== undefined) query[name] = [known, value];
    else query[name] = lists.includes(name) ? [value] : value;
  }
  return query;
}
