import { type NetLimits, type NetRefusal, refusal } from './net.js';

/** Headers of which two readers of a request could each believe another one, and what repeating one is answered with. */
const SINGLE: ReadonlyMap<string, NetRefusal> = new Map([
  // RFC 9112, 6.3
  ['content-length', refusal('malformed_request', 'Content-Length is repeated')],
  // RFC 9112, 3.2
  ['host', refusal('malformed_request', 'Host is repeated')],
  // Whatever checks keys before the service may look at the other one.
  ['x-apikey', refusal('malformed_request', 'x-apikey is repeated')],
  ['transfer-encoding', refusal('malformed_request', 'Transfer-Encoding is repeated')],
]);
const noHost = refusal('malformed_request', 'Host is missing');
const badCoding = refusal('malformed_request', 'Transfer-Encoding must be chunked');

/** A request to HTTP/1.0 or to a version that does not exist. */
export const wrongVersion = refusal('unsupported_http_version', 'HTTP/1.1 is required');

/** Neither a path nor a URL of http or https (RFC 9112, 3.2). */
export const badTarget = refusal('malformed_request', 'The request target is malformed');

type VisitHeader = (name: string, value: string) => void;

/**
 * The refusal of a request with ambiguous or too many headers; null for any other. The connection must be closed after
 * it, since it is uncertain where the next request begins.
 *
 * @param eachHeader calls back with each header line, its name in lower case
 */
export function headFault(eachHeader: (visit: VisitHeader) => void, limits: NetLimits): NetRefusal | null {
  let fields = 0;
  const faults: NetRefusal[] = [];
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
  return refusal('too_many_headers', `More than ${limits.headerFields} header fields`);
}
