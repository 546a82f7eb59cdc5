import { type NetLimits, type NetResponse, refusal } from './net.js';

/** Headers of which two readers of a request could each believe another one, and what repeating one is answered with. */
const SINGLE: ReadonlyMap<string, NetResponse> = new Map([
  // RFC 9112, 6.3
  ['content-length', refusal(400, 'Content-Length is repeated')],
  // RFC 9112, 3.2
  ['host', refusal(400, 'Host is repeated')],
  // Whatever checks keys before the service may look at the other one.
  ['x-apikey', refusal(400, 'x-apikey is repeated')],
  ['transfer-encoding', refusal(400, 'Transfer-Encoding is repeated')],
]);
const noHost = refusal(400, 'Host is missing');
const badCoding = refusal(400, 'Transfer-Encoding must be chunked');

/** A request to HTTP/1.0 or to a version that does not exist. */
export const wrongVersion = refusal(505, 'HTTP/1.1 is required');

/** Neither a path nor a URL of http or https (RFC 9112, 3.2). */
export const badTarget = refusal(400, 'The request target is malformed');

type VisitHeader = (name: string, value: string) => void;

/**
 * The refusal of a request with ambiguous or too many headers; null for any other. The connection must be closed after
 * it, since it is uncertain where the next request begins.
 *
 * @param eachHeader calls back with each header line, its name in lower case
 */
export function headFault(eachHeader: (visit: VisitHeader) => void, limits: NetLimits): NetResponse | null {
  let fields = 0;
  const faults: NetResponse[] = [];
  let seen = '';
  eachHeader((name, value) => {
    fields += 1;
    const repeated = SINGLE.get(name);
    if (repeated === undefined) return;
    if (seen.includes(name)) faults.push(repeated);
    seen += `${name} `;
    if (name === 'transfer-encoding' && value.toLowerCase() !== 'chunked') faults.push(badCoding);
  });
  if (fields <= limits.headerFields) return faults[0] ?? (seen.includes('host') ? null : noHost);
  return refusal(431, `More than ${limits.headerFields} header fields`);
}
