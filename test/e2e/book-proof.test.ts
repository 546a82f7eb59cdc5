import t from 'tap';
import { getAbiItem, numberToHex, toFunctionSelector } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { OrderbookClient } from 'quotebook/client';
import { signRestore, signWithdrawal } from '../../src/client/sign-withdrawal.js';
import type { Hex } from '../../src/engine/quote.js';
import { poolAbi } from '../../src/chain/contracts/abi.js';
import { startLocalChain } from '../../src/chain/dev/local-chain.js';
import { EXIT_FAILED, EXIT_OK, EXIT_USAGE, runCommand } from '../../src/cli/run.js';
import { verifyBookCommand } from '../../src/cli/verify-book.js';
import type { OrdersResponse } from '../../src/wire/orderbook.js';
import type { BookProof } from '../../src/wire/history.js';
import { Market, ONE } from '../chain/dev/market.js';
import { RpcProxy, type Trick } from '../chain/rpc-proxy.js';
import { documentedPorts } from './documented-network.js';
import { RestClient } from './rest-client.js';
import { startTestService } from './running-service.js';
import { until } from '../until.js';

/** GET /book/{pool}/proof, and `quotebook verify-book` against anvil, which keeps its states. */
const chain = await startLocalChain();
t.teardown(() => chain.stop());
const running = await startTestService({
  chain,
  walletKey: null,
  keepsLog: true,
  limits: { lowerHeadMs: 100, timerMinSeconds: 1 },
});
t.teardown(() => running.stop());
const { httpUrl, apiKey } = running;
const market = new Market(chain);
const { maker, taker, stranger } = market;
const call = market.pool('testWETH', 1800n, true);
const { poolAddress } = call;
const rest = new RestClient(httpUrl, apiKey);

/** Once the book has that many public quotes, with so much to fill in all. */
async function untilBook(count: number, fillable: bigint): Promise<void> {
  await until(async () => {
    const { body } = await rest.get(`/orders?chainId=421613&poolAddress=${poolAddress}`);
    const { validQuotes } = body as unknown as OrdersResponse;
    const sum = validQuotes.reduce((total, quote) => total + BigInt(quote.fillableSize), 0n);
    return validQuotes.length === count && sum === fillable;
  });
}

/** The newest proof, once the service has read the whole of its block. */
async function newestProof(): Promise<BookProof> {
  for (;;) {
    const { seq } = (await rest.get('/tickers?chainId=421613')).body as unknown as { seq: number };
    const { status, body } = await rest.get(`/book/${poolAddress}/proof?chainId=421613&seq=${seq}`);
    t.equal(status, 200);
    const proof = body as unknown as BookProof;
    if (proof.settlement?.logIndex === null && proof.seq === seq) return proof;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function verify(seq: number, file: BookProof | null = null, ...more: string[]) {
  const [out, err]: [string[], string[]] = [[], []];
  const words = ['verify-book', '--pool', poolAddress, '--seq', String(seq), '--rpc', chain.rpcUrl, ...more];
  const code = await runCommand(file === null ? words : [...words, '--proof', 'proof.json'], [verifyBookCommand], '0', {
    out: (line) => out.push(line),
    err: (line) => err.push(line),
    environment: {},
    readText: async (name) =>
      JSON.stringify(name === 'proof.json' ? file : { httpUrl, apiKey, chainId: String(chain.chainId) }),
  });
  return { code, out, err };
}

const kept = await market.sign(call);
const partly = await market.sign(call, { price: ONE / 20n });
const cancelled = await market.sign(call, { price: ONE / 30n });
const hidden = await market.sign(call, { price: ONE / 40n, taker: taker.address });
await market.publish(stranger.address, [kept, partly, cancelled, hidden]);
await untilBook(3, 3n * ONE);
await market.fill(taker.address, partly, ONE / 4n);
await market.cancel(maker.address, poolAddress, [cancelled.quoteId]);
await untilBook(2, (7n * ONE) / 4n);
const proof = await newestProof();

await t.test('the chains confirm a proof, also when the book has gone on', async (t) => {
  const ids = proof.quotes.map(({ quote }) => quote.quoteId).sort();
  t.strictSame(ids, [kept.quoteId, partly.quoteId].sort(), 'public quotes alone');
  t.notOk(JSON.stringify(proof).includes(hidden.quoteId));
  t.match(await verify(proof.seq), { code: EXIT_OK, err: [] });
  const { out: json } = await verify(proof.seq, null, '--json');
  const { seq, hash } = proof;
  t.strictSame(
    json.map((line) => JSON.parse(line) as unknown),
    [{ ok: true, seq, hash, quotes: 2, withdrawn: 0, unsigned: [], problems: [] }],
  );
  await market.fill(taker.address, partly, ONE / 4n);
  await untilBook(2, (6n * ONE) / 4n);
  const later = await newestProof();
  t.not(later.hash, proof.hash);
  for (const { seq, hash } of [proof, later]) {
    const { code, out, err } = await verify(seq);
    t.strictSame([code, err, out.includes(`hash ${hash}`)], [EXIT_OK, [], true]);
  }
});

await t.test('a tampered proof and a wrong hash are found', async (t) => {
  const [first, ...others] = proof.quotes;
  const { settlement } = proof;
  if (first === undefined || settlement === null) throw new Error('the proof has quotes and a block');
  const changed = (fields: object): BookProof => ({
    ...proof,
    quotes: [{ ...first, quote: { ...first.quote, ...fields } }, ...others],
  });
  const other = `0x${'ab'.repeat(32)}` as const;
  const cases: [string, BookProof, RegExp][] = [
    ['another hash', { ...proof, hash: other }, /the proof's hash is 0xabab/],
    ['a quote left out', { ...proof, quotes: others }, /the proof has none of it/],
    ['less to fill', changed({ fillableSize: '1' }), /the proof has 1 of it/],
    ['another price', changed({ price: '1' }), /has other terms than its id/],
    ['an unknown quote', changed({ quoteId: other }), /was not published/],
    ['another block', { ...proof, settlement: { ...settlement, blockHash: other } }, /the proof has 0xabab/],
    ['another time', { ...proof, tsMs: proof.tsMs + 10 ** 12 }, /by the chains it is 0x0{64}/],
  ];
  for (const [name, tampered, problem] of cases) {
    const { code, err } = await verify(proof.seq, tampered);
    t.equal(code, EXIT_FAILED, name);
    t.match(err.join('\n'), problem, name);
  }
});

await t.test('what cannot be verified is refused in words', async (t) => {
  const { settlement } = proof;
  if (settlement === null) throw new Error('the proof has a block');
  const within = await verify(proof.seq, { ...proof, settlement: { ...settlement, logIndex: 0 } });
  t.equal(within.code, EXIT_FAILED);
  t.match(within.err.join(), /in the middle of block/);
  const nowhere = `0x${'12'.repeat(20)}`;
  const unknown = await rest.get(`/book/${nowhere}/proof?chainId=421613&seq=${proof.seq}`);
  const undeployed = await verify(proof.seq, unknown.body as unknown as BookProof, '--pool', nowhere);
  t.equal(undeployed.code, EXIT_FAILED);
  t.match(undeployed.err.join(), new RegExp(`no pool was deployed at ${nowhere} as of event ${proof.seq}`));
  t.equal((await verify(proof.seq + 1000, proof)).code, EXIT_USAGE, 'of an earlier event');
  const [nothing, all] = await Promise.all(
    ['0', '1'].map((blocks) => verify(proof.seq, proof, '--blocks-per-request', blocks)),
  );
  t.equal(nothing?.code, EXIT_USAGE);
  t.match(nothing?.err.join(), '--blocks-per-request is a number of blocks, at least 1');
  t.equal(all?.code, EXIT_OK);
  const { status } = await rest.get(`/book/${poolAddress}/proof?chainId=421613&seq=1000000`);
  t.equal(status, 503);
});

const signer = privateKeyToAccount(maker.privateKey);
const chainId = String(chain.chainId);
const client = new OrderbookClient({ url: httpUrl, chainId, apiKey }, documentedPorts);
t.teardown(() => client.close());
let nonce = 0n;
const terms = async (...quoteIds: Hex[]) => {
  nonce += 1n;
  return { quoteIds, nonce, deadline: (await market.now()) + 600 };
};
const named = (...quoteIds: Hex[]) => ({ chainId, provider: maker.address, quoteIds });

/** One more quote of the maker in the pool, public unless a taker is named. */
async function published(count: number, offer: Parameters<typeof market.sign>[1] = {}) {
  const offers = await Promise.all(Array.from({ length: count }, () => market.sign(call, offer)));
  const { length: before } = (await client.rest.orders({ poolAddress })).validQuotes;
  await market.publish(stranger.address, offers);
  const isPublic = offer.taker === undefined;
  await until(async () => {
    const query = isPublic ? { poolAddress } : { poolAddress, taker: taker.address };
    const { validQuotes } = await client.rest.orders(query);
    return isPublic
      ? validQuotes.length === before + count
      : offers.every(({ quoteId }) => shown(validQuotes, quoteId));
  });
  return offers.map(({ quoteId }) => quoteId);
}

const shown = (quotes: readonly { readonly quoteId: string }[], id: string): boolean =>
  quotes.some(({ quoteId }) => quoteId === id);

function withdrawalOf({ withdrawn }: BookProof, id: Hex | undefined) {
  return withdrawn.find(({ quote }) => quote.quoteId === id)?.withdrawal;
}

/** Of secp256k1 (SEC 2, 2.4.1). */
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

await t.test('a quote that is published again with a signature which pools refuse stays in the book', async (t) => {
  const { r, s, v } = kept.signature;
  const highS = numberToHex(ORDER - BigInt(s), { size: 32 });
  await market.publish(stranger.address, [
    { ...kept, signature: { r, s, v: v - 27 } },
    { ...kept, signature: { r, s: highS, v: 55 - v } },
  ]);
  await published(1);
  const proof = await newestProof();
  const inBook = proof.quotes.map(({ quote }) => quote);
  t.ok(shown(inBook, kept.quoteId));
  const { code, err } = await verify(proof.seq);
  t.strictSame([code, err], [EXIT_OK, []]);
});

await t.test('a node that fails gives no verdict, one whose contract reverts does', async (t) => {
  const proxy = await RpcProxy.open(chain.rpcUrl);
  t.teardown(() => proxy.close());
  const selector = toFunctionSelector(getAbiItem({ abi: poolAbi, name: 'isQuoteOBValid' }));
  const verifyWhere = (trick: Trick) => {
    proxy.trick = ({ method, params }) => {
      return method === 'eth_call' && JSON.stringify(params[0]).includes(selector) ? trick : 'PASS';
    };
    return verify(proof.seq, proof, '--rpc', proxy.url);
  };
  for (const [trick, words] of [
    [{ error: { code: -32000, message: 'missing trie node 1234' } }, /missing trie node/],
    [{ error: { code: -32603, message: 'internal fault' } }, /internal fault/],
    [{ status: 429, body: 'slow down' }, /429/],
  ] as const) {
    const { code, out, err } = await verifyWhere(trick);
    t.strictSame([code, out], [EXIT_FAILED, []], 'nothing is said of the proof');
    t.match(err.join('\n'), words);
    t.notMatch(err.join('\n'), /the chains none/);
  }
  for (const error of [
    { code: 3, message: 'execution reverted', data: '0x' },
    { code: -32000, message: 'out of gas' },
  ]) {
    const { code, err } = await verifyWhere({ error });
    t.equal(code, EXIT_FAILED);
    t.match(err.join('\n'), /the chains none/);
  }
});

await t.test('a proof has the signature of a withdrawal, and the verifier checks it', async (t) => {
  const [first, second] = await published(2);
  if (first === undefined || second === undefined) throw new Error('two were published');
  const signed = await signWithdrawal(signer, chainId, await terms(second, first));
  const { seq } = await client.rest.withdrawQuotes(signed);
  const proof = await newestProof();
  const { quoteIds, nonce: sentNonce, deadline, signature } = signed;
  for (const id of [first, second]) {
    const withdrawal = withdrawalOf(proof, id);
    t.match(withdrawal, { reason: 'REQUESTED', evidence: 'SIGNATURE' });
    t.strictSame(withdrawal?.signed, { quoteIds, nonce: sentNonce, deadline, signature }, 'as it was signed');
    t.ok((withdrawal?.seq ?? 0) <= seq);
  }
  const { code, out, err } = await verify(proof.seq);
  t.strictSame([code, err], [EXIT_OK, []]);
  t.ok(out.includes('withdrawn 2') && out.includes('withdrawn without a signature 0'));

  const changed = (fields: object, of: object = {}): BookProof => ({
    ...proof,
    withdrawn: proof.withdrawn.map(({ withdrawal, ...each }) => {
      if (withdrawal?.signed == null) throw new Error('each is signed');
      return { ...each, withdrawal: { ...withdrawal, ...of, signed: { ...withdrawal.signed, ...fields } } };
    }),
  });
  const cases: [string, BookProof, RegExp][] = [
    ['another nonce', changed({ nonce: '99' }), /the signature of its withdrawal is not of its provider/],
    ['other quotes', changed({ quoteIds: [first] }), /is not of its provider/],
    ['too late', changed({}, { tsMs: (deadline + 1) * 1000 }), /was past its deadline/],
    ['of a later event', changed({}, { seq: proof.seq + 1 }), /came later than the proof/],
    ['no signature', { ...changed({}), withdrawn: unsign(proof) }, /the proof lacks the signature/],
  ];
  for (const [name, tampered, problem] of cases) {
    const { code, err } = await verify(proof.seq, tampered);
    t.equal(code, EXIT_FAILED, name);
    t.match(err.join('\n'), problem, name);
  }
});

function unsign({ withdrawn }: BookProof): BookProof['withdrawn'] {
  return withdrawn.map((each) => ({ ...each, withdrawal: each.withdrawal && { ...each.withdrawal, signed: null } }));
}

await t.test('a proof says that a proven session withdrew a quote, and the verifier reports it', async (t) => {
  const [id] = await published(1);
  if (id === undefined) throw new Error('one was published');
  await client.rest.withdrawQuotes(await signWithdrawal(signer, chainId, await terms(id)));
  await client.rest.restoreQuotes(await signRestore(signer, chainId, await terms(id)));
  await client.signIn({ account: signer });
  await client.rest.withdrawQuotes(named(id));
  const proof = await newestProof();
  t.match(withdrawalOf(proof, id), { reason: 'REQUESTED', evidence: 'SESSION', signed: null }, 'not the one before');
  const { code, out } = await verify(proof.seq);
  t.equal(code, EXIT_OK);
  t.ok(out.includes('withdrawn without a signature 1'));
  const words = 'a key that had proven the address of its provider withdrew it; there is no signature';
  t.ok(out.includes(`quote ${id}: ${words}`));
  const { out: json } = await verify(proof.seq, null, '--json');
  const unsigned = [{ quoteId: id, evidence: 'SESSION', reason: 'REQUESTED' }];
  t.match(JSON.parse(json[0] ?? ''), { ok: true, withdrawn: 3, unsigned });
  const before = { ...proof, withdrawn: proof.withdrawn.map(({ quote, published }) => ({ quote, published })) };
  const { out: ofBefore } = await verify(proof.seq, before as never);
  t.ok(ofBefore.includes(`quote ${id}: the proof does not say how it was withdrawn`), 'a proof of an earlier version');
});

await t.test('a message that names a private quote is not shown', async (t) => {
  const [open] = await published(1);
  const [secret] = await published(1, { taker: taker.address });
  if (open === undefined || secret === undefined) throw new Error('both were published');
  await client.rest.withdrawQuotes(await signWithdrawal(signer, chainId, await terms(open, secret)));
  const proof = await newestProof();
  t.match(withdrawalOf(proof, open), { reason: 'REQUESTED', evidence: 'NOT_SHOWN', signed: null });
  t.notOk(JSON.stringify(proof).includes(secret));
  const { code, out } = await verify(proof.seq);
  t.equal(code, EXIT_OK);
  t.ok(out.some((line) => line.startsWith(`quote ${open}: its provider signed the withdrawal, in a message`)));
});

await t.test('a rule that withdrew quotes is named', async (t) => {
  const [id] = await published(1);
  await client.rest.authorizeKey({ chainId, provider: maker.address });
  await client.rest.heartbeat(maker.address, 1);
  await until(async () => !shown((await client.rest.orders({ poolAddress })).validQuotes, id ?? ''));
  const proof = await newestProof();
  t.match(withdrawalOf(proof, id), { reason: 'HEARTBEAT_MISSED', evidence: 'RULE', signed: null });
  const { code, out } = await verify(proof.seq);
  t.equal(code, EXIT_OK);
  const words = 'a rule that its provider had set withdrew it (HEARTBEAT_MISSED); there is no signature';
  t.ok(out.includes(`quote ${id}: ${words}`));
});
