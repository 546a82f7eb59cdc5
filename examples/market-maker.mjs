// Keeps a bid and an ask of one pool in the book, renews what expires or is filled, and answers requests for quotes.
//   node examples/market-maker.mjs READY_FILE [POOL_NUMBER] [FAIR_PRICE] [SIZE] [RFQ_SIZE] [LIFE_SECONDS] [QUOTES_PER_DAY]
// READY_FILE is what `npm start` writes; FAIR_PRICE is in whole tokens, sizes are in contracts. On each side the maker
// never offers more than SIZE in all: RFQ_SIZE of it (default: a quarter) is kept for private answers, the rest is
// public. Positions from fills are not limited. Ctrl-C stops the maker; its quotes expire within LIFE_SECONDS * 1.5.
import { readFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { formatEther, parseEther } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { ApiError, OrderbookClient, ZERO_ADDRESS } from 'quotebook/client';

const RFQ_LIFE_SECONDS = 30;
const LOOK_EVERY_MS = 5_000;
/** Both sides expire in one second: the pause lets one request renew them. */
const GATHER_MS = 50;
/** How far the chain's clock may be behind this machine's: until then an expired quote counts as fillable. */
const CLOCK_SLACK_SECONDS = 30;
/** Quotes that requests for quotes must leave for the public side. */
const PUBLIC_RESERVE = 10;
const SIDES = ['bid', 'ask'];

const words = process.argv.slice(2);
const [readyFile = 'data/ready.json', poolNumber = '0', fairPrice = '0.05', wantedSize = '2', wantedRfqSize] = words;
// Defaults for a free key (docs/reference/limits.md). 2 * 86,400 s / 300 s = 576 renewals a day. A quote in a request of its own
// costs 33,900 gas, so 50,000,000 gas a day pay for 1,474 quotes; 1,400 is below both quotas.
const [lifeSeconds, quotesPerDay] = [words[5] ?? '300', words[6] ?? '1400'].map(Number);

const ready = JSON.parse(readFileSync(readyFile, 'utf8'));
// A cluster's file has several gateways: any of them will do.
const { httpUrl, apiKey, chainId, accounts, pools } = { ...ready, ...ready.gateways?.[0] };
const maker = privateKeyToAccount(accounts[1].privateKey);
const pool = pools[Number(poolNumber)];
const fair = parseEther(fairPrice);
const size = parseEther(wantedSize);
const rfqSize = wantedRfqSize === undefined ? size / 4n : parseEther(wantedRfqSize);
const publicSize = size - rfqSize;
if (publicSize < 0n) throw new RangeError(`RFQ_SIZE ${wantedRfqSize} is more than SIZE ${wantedSize}`);
const price = { bid: (fair * 98n) / 100n, ask: (fair * 102n) / 100n };

const client = new OrderbookClient({ url: httpUrl, apiKey, chainId: String(chainId) });
const own = client.followQuotes({ poolAddress: pool.poolAddress, provider: maker.address, taker: '*' });
const rfqs = client.followRfqs({ poolAddress: pool.poolAddress });

/** Own quotes that the book does not show and that may still be filled: not yet published, or without funds just now. */
const hidden = new Set();
/** Quotes that may be posted now: at most a fifteenth of the day's at once, so that any 24 hours stay within them. */
const burst = quotesPerDay / 15;
let allowance = burst;
let allowanceAtMs = performance.now();
/** After a 429 the maker posts nothing before this time. */
let refusedUntilMs = 0;

const nowSeconds = () => Math.floor(Date.now() / 1000);
const isPublic = (taker) => taker === undefined || taker === ZERO_ADDRESS;

/** What may be filled of the own public or private quotes of a side. Expired quotes count until the book drops them. */
function exposure(side, wantPublic) {
  for (const quote of hidden) if (quote.deadline + CLOCK_SLACK_SECONDS < nowSeconds()) hidden.delete(quote);
  const shown = own.book.side(pool.poolAddress, side).filter(({ taker }) => isPublic(taker) === wantPublic);
  const unseen = [...hidden].filter((quote) => quote.side === side && isPublic(quote.taker) === wantPublic);
  return [...shown.map(({ fillableSize }) => BigInt(fillableSize)), ...unseen.map((quote) => quote.size)].reduce(
    (sum, each) => sum + each,
    0n,
  );
}

/** Takes `count` quotes of the allowance, unless fewer than `reserve` would be left. */
function take(count, reserve) {
  const nowMs = performance.now();
  const perDay = quotesPerDay - burst;
  allowance = Math.min(burst, allowance + ((nowMs - allowanceAtMs) / 86_400_000) * perDay);
  allowanceAtMs = nowMs;
  if (nowMs < refusedUntilMs || allowance - count < reserve) return false;
  allowance -= count;
  return true;
}

/** Signs and posts quotes in one request. They count as exposure from the start, until the server refuses them. */
async function post(offers) {
  const quotes = offers.map((offer) => ({ ...offer }));
  for (const quote of quotes) hidden.add(quote);
  const drop = (isDropped) => quotes.filter(isDropped).forEach((quote) => hidden.delete(quote));
  try {
    const signed = await Promise.all(quotes.map((quote) => client.signQuote(maker, pool, quote)));
    signed.forEach(({ quoteId, posted }, i) => Object.assign(quotes[i], { quoteId, salt: posted.salt }));
    const { created, failed } = await client.rest.postQuotes(signed.map(({ posted }) => posted));
    for (const { reason, quote: refused } of failed) {
      console.log(`refused: ${reason}`);
      if (reason !== 'Publication not confirmed yet') drop(({ salt }) => salt === refused.salt);
    }
    for (const quote of created) {
      const suffix = isPublic(quote.taker) ? '' : ` for ${quote.taker}`;
      const words = [quote.isBuy ? 'bid' : 'ask', formatEther(BigInt(quote.size))];
      console.log(`${words.join(' ')} at ${formatEther(BigInt(quote.price))}${suffix}`);
    }
  } catch (error) {
    // After a 504 or a lost connection the quotes may still be published.
    if (error instanceof ApiError && error.status !== 504) drop(() => true);
    if (error.status === 429) refusedUntilMs = performance.now() + (error.retryAfterMs ?? LOOK_EVERY_MS);
    console.log(`not posted: ${error.message}`);
  }
}

let isQuoting = false;

/** Posts what the public sides lack, one request at a time, and only while the book is whole. */
async function quote() {
  if (isQuoting || own.state !== 'LIVE') return;
  isQuoting = true;
  // Common ends of life: quotes that replace parts expire together with the rest, and one quote renews them.
  const deadline = Math.ceil((nowSeconds() + lifeSeconds / 2) / lifeSeconds) * lifeSeconds;
  const offers = SIDES.map((side) => ({ side, price: price[side], size: publicSize - exposure(side, true), deadline }))
    // A smaller gap is not worth a quote.
    .filter((offer) => offer.size > 0n && offer.size * 4n >= publicSize);
  if (offers.length > 0 && take(offers.length, 0)) await post(offers);
  isQuoting = false;
}

let soon;
function quoteSoon() {
  soon ??= setTimeout(() => {
    soon = undefined;
    void quote();
  }, GATHER_MS);
}

own.onState(quoteSoon);
own.onEvent(({ type, body }) => {
  for (const quote of hidden) if (quote.quoteId === body.quoteId) hidden.delete(quote);
  // The quote is fillable again when the funds return.
  if (type === 'INVALIDATE_QUOTE') {
    const { quoteId, taker, deadline, isBuy, fillableSize } = body;
    hidden.add({ quoteId, taker, deadline, side: isBuy ? 'bid' : 'ask', size: BigInt(fillableSize) });
  }
  if (type === 'FILL_QUOTE') console.log(`filled: ${formatEther(BigInt(body.fillableSize))} left of ${body.quoteId}`);
  quoteSoon();
});
rfqs.onRfq(async ({ body: { side, size: asked, taker } }) => {
  if (own.state !== 'LIVE') return;
  const room = rfqSize - exposure(side, false);
  const offered = BigInt(asked) < room ? BigInt(asked) : room;
  if (offered <= 0n || !take(1, PUBLIC_RESERVE)) return;
  // Half the distance from the fair price is the private price.
  const better = (price[side] + fair) / 2n;
  await post([{ side, price: better, size: offered, taker, deadline: nowSeconds() + RFQ_LIFE_SECONDS }]);
});
client.onConnection((state) => console.log(`connection: ${state}`));

await Promise.all([own.whenLive(), rfqs.whenLive()]);
await quote();
const timer = setInterval(quoteSoon, LOOK_EVERY_MS);
process.once('SIGINT', () => {
  clearInterval(timer);
  clearTimeout(soon);
  client.close();
});
