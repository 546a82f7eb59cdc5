/** Parameters of a query string; those that may repeat are arrays. No prototype: a parameter may have any name. */
export type Query = Readonly<Record<string, string | readonly string[]>>;

export type ParsedQuery =
  { readonly ok: true; readonly value: Query } | { readonly ok: false; readonly message: string };

export interface QueryShape {
  /**
   * Parameters that are lists, written `name=a&name=b`, `name[]=a&name[]=b` or `name[0]=a&name[1]=b`, brackets encoded or
   * not. Their values are in the order in which they come, whatever the indexes.
   */
  readonly lists?: readonly string[];
  /** Most parameters that are read, each counted as often as it comes. */
  readonly maxPairs: number;
}

/**
 * Reads a query string (what follows `?`, still encoded) as HTML forms write it (WHATWG URL,
 * application/x-www-form-urlencoded: `+` is a space), and as clients of the service do: stray `&` are skipped. A name
 * that repeats without being a list also becomes an array, which its schema then refuses. Malformed encoding is
 * refused rather than repaired: a repaired address would be another address.
 */
export function parseQuery(text: string, { lists = [], maxPairs }: QueryShape): ParsedQuery {
  // Not by `Object.create(null)`, which V8 keeps as a hash table: a schema's check takes twice as long for that.
  const query = Object.setPrototypeOf({}, null) as Record<string, string | string[]>;
  let pairs = 0;
  for (let start = 0; start < text.length;) {
    const next = text.indexOf('&', start);
    const end = next < 0 ? text.length : next;
    const pair = text.slice(start, end);
    start = end + 1;
    if (pair === '') continue;
    if (++pairs > maxPairs) return { ok: false, message: `The query has more than ${maxPairs} parameters` };
    const mark = pair.indexOf('=');
    const written = decode(mark < 0 ? pair : pair.slice(0, mark));
    const value = mark < 0 ? '' : decode(pair.slice(mark + 1));
    if (written === null || value === null) {
      return { ok: false, message: 'The query has a malformed percent-encoding' };
    }
    const bare = written.endsWith(']') ? written.replace(/\[[0-9]*\]$/, '') : written;
    const isList = lists.includes(bare);
    add(query, isList ? bare : written, value, isList);
  }
  return { ok: true, value: query };
}

function add(query: Record<string, string | string[]>, name: string, value: string, isList: boolean): void {
  const earlier = query[name];
  if (earlier === undefined) query[name] = isList ? [value] : value;
  else if (typeof earlier === 'string') query[name] = [earlier, value];
  else earlier.push(value);
}

/** Null when an escape is cut short, has no hexadecimal digits, or does not give UTF-8. */
function decode(text: string): string | null {
  const spaced = text.includes('+') ? text.replaceAll('+', ' ') : text;
  if (!spaced.includes('%')) return spaced;
  try {
    return decodeURIComponent(spaced);
  } catch {
    return null;
  }
}
