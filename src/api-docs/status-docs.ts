import Type from 'typebox';
import { closed } from '../wire/primitives.js';
import { ErrorBody } from '../wire/problem.js';
import { type AnswerDoc, NOT_MODIFIED, type RouteDoc } from './route-doc.js';

const Health = closed({ status: Type.Literal('alive') });
const Ready = closed({ ready: Type.Boolean(), reasons: Type.Array(Type.String()) });
const PageSettings = closed({ chainId: Type.String(), apiKey: Type.Union([Type.String(), Type.Null()]) });
const Document: AnswerDoc = { about: 'The document', schema: Type.Object({}) };

/** What tells of the service itself, without a key. */
export function statusDocs(): RouteDoc[] {
  const route = (path: string, summary: string, answers: RouteDoc['answers']): RouteDoc => {
    return { method: 'GET', path, needsKey: false, tag: 'Service', summary, answers };
  };
  return [
    route('/health', 'Whether the process lives', { 200: { about: 'It does', schema: Health } }),
    route('/ready', 'Whether it serves what the chains say now', {
      200: { about: 'It does', schema: Ready },
      503: { about: 'It does not, and why', schema: Ready },
    }),
    route('/openapi.json', 'The REST API as OpenAPI 3.1', { 200: Document }),
    route('/asyncapi.json', 'The WebSocket API as AsyncAPI 3.0', { 200: Document }),
    route('/docs', 'Both, for people', { 200: { about: 'A page', mediaType: 'text/html' } }),
    route('/', 'The market, for people: where the page was built', {
      200: { about: 'A page', mediaType: 'text/html' },
      304: NOT_MODIFIED,
      403: { about: 'A WebSocket handshake of a page whose origin is not allowed', schema: ErrorBody },
      426: { about: 'A WebSocket handshake of another version than 13', schema: ErrorBody },
      429: { about: 'A WebSocket handshake from an address that has as many sockets as it may', schema: ErrorBody },
      503: {
        about:
          'A WebSocket handshake while there are as many sockets as there may be; anything while the chains have not been reached',
        schema: ErrorBody,
      },
    }),
    route('/page.json', 'What that page asks for', {
      200: { about: 'The chain, and on a local set-up the key that this browser may use', schema: PageSettings },
    }),
  ];
}
