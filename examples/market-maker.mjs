// Keeps a bid and an ask of one pool in the book, puts back what is taken, and answers takers who ask.
//   node examples/market-maker.mjs READY_FILE [POOL_NUMBER] [FAIR_PRICE] [SIZE]
// READY_FILE is what `npm start` writes; FAIR_PRICE in whole tokens, SIZE in contracts. Ctrl-C stops it; what it has
// quoted expires within a minute.
import { readFileSync } from 'node:fs';
import { formatEther, parseEther } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { OrderbookClient, ZERO_ADDRESS } from 'quotebook/client';

const LIFE_SECONDS = 60;
/** A quote with less left is replaced while it can still be filled. */
const RENEW_SECONDS = 20;
const LOOK_EVERY_MS = 5_000;

const [readyFile = 'data/ready.json', poolNumber = '0', fairPrice = '0.05', wantedSize = '2'] = process.argv.slice(2);
const { httpUrl, apiKey, chainId, accounts, pools } = JSON.parse(readFileSync(readyFile, 'utf8'));
const maker = privateKeyToAccount(accounts[1].privateKey);
const pool = pools[Number(poolNumber)];
const fair = parseEther(fairPrice);
const size = parseEther(wantedSize);
const price = { bid: (fair * 98n) / 100n, ask: (fair * 102n) / 100n };

const client = new OrderbookClient({ url: httpUrl, apiKey, chainId: String(chainId) });
const own = client.followQuotes({ poolAddress: pool.poolAddress, provider: maker.address, taker: '*' });
const rfqs = client.followRfqs({ poolAddress: pool.poolAddress });

const nowSeconds = () => Math.floor(Date.now() / 1000);

/** Signs and posts; says what the service would not take. */
async function post(terms) {
  const signed = await client.signQuote(maker, pool, { ...terms, deadline: nowSeconds() + LIFE_SECONDS });
  const { created, failed } = await client.rest.postQuotes([signed.posted]);
  for (const { reason } of failed) console.log(`refused: ${reason}`);
  for (const quote of created) {
    const whom = terms.taker === undefined ? '' : ` for ${terms.taker}`;
    console.log(`${terms.side} ${formatEther(terms.size)} at ${formatEther(BigInt(quote.price))}${whom}`);
  }
}

/**
 * What is missing of the size that is quoted to all. The book that is followed knows what was filled, and by whomever.
 */
function missing(side) {
  const lasting = own.book
    .side(pool.poolAddress, side)
    .filter(({ taker, deadline }) => taker === ZERO_ADDRESS && deadline > nowSeconds() + RENEW_SECONDS);
  return size - lasting.reduce((sum, { fillableSize }) => sum + BigInt(fillableSize), 0n);
}

let isQuoting = false;

/** One round at a time, and none from a book that is not whole. */
async function quote() {
  if (isQuoting || own.state !== 'LIVE') return;
  isQuoting = true;
  try {
    for (const side of ['bid', 'ask']) {
      const short = missing(side);
      if (short * 4n >= size) await post({ side, price: price[side], size: short });
    }
  } catch (error) {
    // The next round tries again.
    console.log(`not quoted: ${error.message}`);
  } finally {
    isQuoting = false;
  }
}

own.onState(() => void quote());
own.onFact(({ type, body }) => {
  if (type === 'FILL_QUOTE') console.log(`filled: ${formatEther(BigInt(body.fillableSize))} left of ${body.quoteId}`);
  void quote();
});
rfqs.onRfq(async ({ body }) => {
  // Who asks gets half the distance from the fair price, for no more than is quoted to all.
  const better = (price[body.side] + fair) / 2n;
  const asked = BigInt(body.size);
  try {
    await post({ side: body.side, price: better, size: asked < size ? asked : size, taker: body.taker });
  } catch (error) {
    console.log(`not answered: ${error.message}`);
  }
});
client.onConnection((state) => console.log(`connection: ${state}`));

await Promise.all([own.whenLive(), rfqs.whenLive()]);
await quote();
const timer = setInterval(() => void quote(), LOOK_EVERY_MS);
process.once('SIGINT', () => {
  clearInterval(timer);
  client.close();
});
