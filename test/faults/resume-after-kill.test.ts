import { randomInt } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import t from 'tap';
import { startLocalChain } from '../../src/chain/dev/local-chain.js';
import type { EventsPage } from '../../src/wire/feed-messages.js';
import type { OrdersResponse } from '../../src/wire/orderbook.js';
import { FeedClient, type Subprotocol } from '../e2e/feed-client.js';
import { ONE, signQuote } from '../e2e/maker.js';
import { RestClient } from '../e2e/rest-client.js';
import { ModelReader, quotesHash } from '../feed/model-reader.js';
import { ServiceProcess } from './service-process.js';

const ROUNDS = process.env.QUOTEBOOK_TEST_LONG === undefined ? 3 : 60;
const BATCH = 4;
/** One reader in three is away for a whole life of the server, and reads that from its log. */
const AWAY = 3;

const chain = await startLocalChain();
t.teardown(() => chain.stop());
const [, firstMaker, secondMaker, takerAccount] = chain.accounts;
const [pool, otherPool] = chain.pools;
if (!firstMaker || !secondMaker || !takerAccount || !pool || !otherPool) throw new Error('The local chain lacks some');
const taker = takerAccount.address.toLowerCase();
const makers = [
  { account: firstMaker, pool },
  { account: secondMaker, pool: otherPool },
];

/** Reads on wherever the last connection broke. */
class Follower {
  readonly reader = new ModelReader();
  #client: FeedClient | null = null;

  constructor(
    readonly channel: 'QUOTES' | 'ORDERBOOK',
    readonly body: Readonly<Record<string, string>>,
    private readonly protocol: Subprotocol,
  ) {}

  async come(service: ServiceProcess): Promise<void> {
    const wsUrl = service.httpUrl.replace('http', 'ws');
    this.#client = await FeedClient.open(wsUrl, service.apiKey, this.protocol, this.reader);
    this.#client.follow(this.channel, this.body, this.reader.canResume);
  }

  /** The server is gone. Rejects when something was wrong with what it told. */
  async leave(): Promise<void> {
    await this.#client?.ended;
    await this.#client?.until(() => true);
    this.#client = null;
  }

  /** Has everything up to `seq`, and a heartbeat has told the hash of that book. */
  async reaches(seq: number): Promise<void> {
    const { reader } = this;
    await this.#client?.until(() => reader.canResume && reader.seq >= seq);
    const beats = reader.heartbeats;
    await this.#client?.until(() => reader.heartbeats > beats);
    this.#client?.break();
  }
}

const filters: Readonly<Record<string, string>>[] = [
  {},
  { taker: '*' },
  { taker },
  { poolAddress: pool.poolAddress },
  { side: 'bid' },
  { provider: secondMaker.address, size: (ONE / 500n).toString() },
];
const subprotocols = ['quotebook.v2.json', 'quotebook.v2.msgpack'] as const;
const followers = subprotocols.flatMap((protocol) => [
  ...filters.map((body) => new Follower('QUOTES', body, protocol)),
  new Follower('ORDERBOOK', { poolAddress: pool.poolAddress }, protocol),
  new Follower('ORDERBOOK', { poolAddress: otherPool.poolAddress, taker }, protocol),
]);

/** Posts quotes of all kinds until the service is gone; ids that it acknowledged go into `acked`. */
async function postUntilKilled(rest: RestClient, { account, pool: at }: (typeof makers)[number], acked: Set<string>) {
  for (;;) {
    const batch = await Promise.all(
      Array.from({ length: BATCH }, (_, i) =>
        signQuote(account.privateKey, at, {
          size: ONE / BigInt(400 + 200 * (i % 2)),
          price: ONE / BigInt(10 + randomInt(40)),
          isBuy: i % 2 === 0,
          ...(i === 3 && { taker }),
        }),
      ),
    );
    try {
      const { status, body } = await rest.post('/quotes', batch);
      if (status === 201) for (const { quoteId } of body.created as { quoteId: string }[]) acked.add(quoteId);
    } catch {
      return; // the connection broke: neither acknowledged nor refused
    }
  }
}

/** Key and number of every message that a connection under this filter was ever sent, as the server has them now. */
async function allEvents(rest: RestClient, body: Readonly<Record<string, string>>): Promise<string[]> {
  const found: string[] = [];
  for (let from = 0, more = true; more;) {
    const query = new URLSearchParams({ channel: 'QUOTES', fromSeq: String(from), ...body });
    const page = (await rest.get(`/events?${query.toString()}`)).body as unknown as EventsPage;
    for (const message of page.messages) {
      if (!('prevSeq' in message)) throw new Error(`${message.type} in place of what was missed`);
      found.push(`${message.key} ${message.seq}`);
    }
    ({ seq: from, more } = page);
  }
  return found;
}

await t.test(`${ROUNDS} kills under load: readers go on by number, nothing lost and nothing twice`, async (t) => {
  t.setTimeout(ROUNDS * 20_000 + 60_000);
  const service = await ServiceProcess.prepare(chain, t.testdir());
  const acked = new Set<string>();
  const epochs = new Set<string>();
  for (let round = 0; round < ROUNDS; round++) {
    await service.start();
    // In the first life all come before anything is posted, so that they have it from number 1 on.
    const present = followers.filter((_, i) => round === 0 || i % AWAY !== round % AWAY);
    await Promise.all(present.map((follower) => follower.come(service)));
    const rest = new RestClient(service.httpUrl, service.apiKey);
    const posting = [...makers, ...makers].map((maker) => postUntilKilled(rest, maker, acked));
    await pause(randomInt(100, 2_500));
    await service.end('SIGKILL');
    await Promise.all([...posting, ...present.map((follower) => follower.leave())]);
    for (const { reader } of present) epochs.add(reader.epoch);
  }
  t.ok(acked.size > ROUNDS * BATCH, `${acked.size} quotes were acknowledged`);

  await service.start();
  const rest = new RestClient(service.httpUrl, service.apiKey);
  await Promise.all(followers.map((follower) => follower.come(service)));
  const { body } = await rest.get('/events?channel=QUOTES&fromSeq=999999999');
  const { seq } = body as unknown as EventsPage;
  await Promise.all(followers.map((follower) => follower.reaches(seq)));

  t.equal(epochs.size, 1, 'it is one log all the time');
  for (const { reader, channel, body: filter } of followers) {
    const name = `${channel} ${JSON.stringify(filter)}`;
    t.equal(reader.counts.get('RESYNC') ?? 0, 0, `${name} never had to begin anew`);
    if (channel === 'ORDERBOOK') continue;
    const wanted = await allEvents(rest, filter);
    t.ok(wanted.length > 0);
    t.strictSame(reader.used, wanted, `${name} got each event once, in order`);
  }
  const [everything] = followers.filter(({ body: filter }) => filter.taker === '*');
  const known = new Set<string>(everything?.reader.allQuotes.map(({ quoteId }) => quoteId));
  t.strictSame(
    [...acked].filter((quoteId) => !known.has(quoteId)),
    [],
    'the feed published each acknowledged quote',
  );
  for (const { poolAddress } of [pool, otherPool]) {
    const answer = await rest.get(`/orders?chainId=421613&poolAddress=${poolAddress}`);
    const { validQuotes } = answer.body as unknown as OrdersResponse;
    const own = followers[0]?.reader.allQuotes.filter((quote) => quote.poolAddress === poolAddress) ?? [];
    t.equal(quotesHash(own), quotesHash(validQuotes), 'the book put together over all lives is the server’s');
  }
  t.comment(`${seq} events in ${ROUNDS + 1} lives`);
  t.equal(await service.end('SIGTERM'), 0, 'it stops in order');
});
