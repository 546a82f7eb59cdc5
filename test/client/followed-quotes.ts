import type { FollowState, ResyncCause } from '../../src/client/exports.js';
import { OrderbookClient } from '../../src/client/node.js';
import { quoteTerm, SetHash } from '../../src/client/set-hash.js';
import { quote, ScriptedServer } from './scripted-server.js';

export const key = 'quotes:421613:*:*:*';
export const rfqKey = 'rfq:421613:*:*:*';

/** The hash of quotes with 10 to fill. */
export function hashOf(...ids: readonly number[]): string {
  const hash = new SetHash();
  for (const id of ids) hash.add(quoteTerm(quote(id).quoteId, 10n));
  return hash.text;
}

export function snapshot(seq: number, ids: readonly number[], more: object = {}): object {
  const body = ids.map((id) => quote(id));
  return { type: 'QUOTES_SNAPSHOT', key, seq, tsMs: 0, hash: hashOf(...ids), more: false, body, ...more };
}

export function post(seq: number, prevSeq: number, id: number): object {
  return { type: 'POST_QUOTE', key, seq, prevSeq, tsMs: 0, cause: null, body: quote(id) };
}

/** A client that follows all quotes over a socket that is open. */
export function following() {
  const server = new ScriptedServer();
  const client = new OrderbookClient({ url: 'http://quotes.test/', apiKey: 'k', chainId: '421613' }, server.ports);
  const quotes = client.followQuotes({ taker: '*' });
  const states: FollowState[] = [];
  const resyncs: ResyncCause[] = [];
  const ids: number[] = [];
  quotes.onState((state) => states.push(state));
  quotes.onResync((why) => resyncs.push(why));
  quotes.onEvent(({ body }) => ids.push(body.salt));
  server.socket.authorizes();
  return { server, client, quotes, states, resyncs, ids };
}

/** The same, with quotes 1 and 2 in the book at number 10. */
export function live() {
  const set = following();
  set.server.socket.grants(10, [key]);
  set.server.socket.says(snapshot(10, [1, 2]));
  return set;
}
