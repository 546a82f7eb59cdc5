import t, { type Test } from 'tap';
import { OrderbookClient } from '../../src/client/node.js';
import type { ResyncCause } from '../../src/client/exports.js';
import { enter, sampleQuote } from '../engine/samples.js';
import { chainId, FeedFixture } from '../feed/feed-fixture.js';
import { goodKey } from '../ws/gateway-fixture.js';
import { following, hashOf, key, live, post, rfqKey } from './followed-quotes.js';
import { LossyLink } from './lossy-link.js';
import { error, heartbeat, ScriptedServer } from './scripted-server.js';

const tooLarge = error('Too many quotes for a snapshot: 7, at most 5. Name a pool', 'snapshot_too_large');
const refused = { name: 'RefusedError', message: /Name a pool/ };

/** What is followed beside RFQs is lost, and not had again. */
function comeBack(t: Test, server: ScriptedServer): void {
  server.socket.grants(10, [rfqKey]);
  server.socket.drops();
  server.clock.advance(1_000);
  t.match(server.socket.authorizes().next(), { channel: 'QUOTES', body: { fromSeq: 10 } });
  server.socket.says(tooLarge);
  server.socket.grants(10, [rfqKey]);
}

t.test('events whose place is refused follow from now, and nothing else of the connection notices', (t) => {
  const server = new ScriptedServer();
  const client = new OrderbookClient({ url: 'http://quotes.test', apiKey: 'k', chainId: '421613' }, server.ports);
  const events = client.followEvents();
  const rfqs = client.followRfqs();
  const resyncs: ResyncCause[] = [];
  const seqs: number[] = [];
  events.onResync((why) => resyncs.push(why));
  events.onEvent(({ seq }) => seqs.push(seq));
  server.socket.authorizes().grants(10, [key]);
  comeBack(t, server);
  t.strictSame(server.socket.grants(20, [key]), { chainId: '421613', snapshot: false });
  server.socket.says(post(21, 20, 3));
  t.strictSame([events.state, rfqs.state, resyncs, seqs], ['LIVE', 'LIVE', ['RESYNC'], [21]]);
  t.equal(server.sockets.length, 2);
  t.end();
});

t.test('a book that would have to begin anew, and is too large for it, is refused', async (t) => {
  const { server, client, quotes } = live();
  const rfqs = client.followRfqs();
  comeBack(t, server);
  t.strictSame([quotes.state, rfqs.state, server.socket.isClosed], ['REFUSED', 'LIVE', false]);
  await t.rejects(quotes.whenLive(), refused);
});

t.test('a wrong book whose snapshot is refused is refused too, and the client unsubscribes', (t) => {
  const { server, quotes } = live();
  server.socket.says(heartbeat(10, [{ key, hash: hashOf(9) }]));
  t.match(server.socket.next(), { body: { snapshot: true } });
  server.socket.says(tooLarge);
  t.strictSame([quotes.state, server.socket.isClosed], ['REFUSED', false]);
  t.strictSame(server.socket.next(), { type: 'UNSUBSCRIBE', channel: 'QUOTES', body: null });
  t.end();
});

t.test('what was refused from the start has nothing to leave', (t) => {
  const { server, quotes } = following();
  server.socket.next();
  server.socket.says(tooLarge);
  t.strictSame([quotes.state, server.socket.sent], ['REFUSED', []]);
  t.end();
});

t.test('with the server: of more quotes than a snapshot may have, events go on and a book does not', async (t) => {
  const fixture = new FeedFixture({ limits: { recentEvents: 2, wsSnapshotQuotes: 2 } });
  const link = new LossyLink(fixture);
  const options = { url: 'http://quotes.test', apiKey: goodKey, chainId } as const;
  const client = new OrderbookClient(
    options,
    link.ports(() => 0.5),
  );
  const events = client.followEvents();
  const quotes = client.followQuotes();
  const seqs: number[] = [];
  events.onEvent(({ seq }) => seqs.push(seq));
  link.deliver();
  link.cut();
  for (let n = 0; n < 4; n++) fixture.do(enter(sampleQuote({ n })));
  fixture.clock.advance(1_000);
  link.deliver();
  t.strictSame([events.state, quotes.state], ['LIVE', 'REFUSED']);
  await t.rejects(quotes.whenLive(), refused);
  fixture.do(enter(sampleQuote({ n: 4 })));
  link.deliver();
  t.strictSame(seqs, [5]);
});
