// Keeps a bid and an ask of one pool in the book, renews what expires or is filled, and answers requests for quotes.
//   node examples/market-maker.mjs READY_FILE [POOL_NUMBER] [FAIR_PRICE] [SIZE] [RFQ_SIZE] [LIFE_SECONDS] [QUOTES_PER_DAY]
// READY_FILE is what `npm start` writes; sizes are in contracts; FAIR_PRICE as quotes have it: base tokens per contract
// of a call, quote tokens per contract and unit of strike of a put. On each side the maker never offers more than SIZE
// in all: RFQ_SIZE of it (default: a quarter) is kept for private answers, the rest is public. Positions from fills are
// not limited. Ctrl-C or SIGTERM cancels on the chain what may still be filled, and ends.
import { readFileSync } from 'node:fs';
import { createWalletClient, defineChain, formatEther, http, parseEther } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { OrderbookClient } from 'quotebook/client';
import { QuoteManager, Trader } from 'quotebook/client/trading';

const words = process.argv.slice(2);
const [readyFile = 'data/ready.json', poolNumber = '0', fairPrice = '0.12', wantedSize = '2', wantedRfqSize] = words;
// Defaults for a free key (docs/reference/limits.md). 2 * 86,400 s / 300 s = 576 renewals a day. A quote in a request of its own
// costs 33,900 gas, so 50,000,000 gas a day pay for 1,474 quotes; 1,400 is below both quotas.
const [lifeSeconds, quotesPerDay] = [words[5] ?? '300', words[6] ?? '1400'].map(Number);

const ready = JSON.parse(readFileSync(readyFile, 'utf8'));
// A cluster's file has several gateways: any of them will do.
const { httpUrl, apiKey, rpcUrl, chainId, accounts, pools, contracts } = { ...ready, ...ready.gateways?.[0] };
const pool = pools[Number(poolNumber)];
const isAbove0 = (word) => /^\d+(\.\d+)?$/.test(word) && Number(word) > 0;
if (
  pool === undefined ||
  ![fairPrice, wantedSize, ...words.slice(5)].every(isAbove0) ||
  !(Number(wantedRfqSize ?? 0) >= 0)
) {
  console.error(
    `POOL_NUMBER is from 0 to ${pools.length - 1}, everything else a decimal number above 0:\n  node examples/market-maker.mjs READY_FILE [POOL_NUMBER] [FAIR_PRICE] [SIZE] [RFQ_SIZE] [LIFE_SECONDS] [QUOTES_PER_DAY]`,
  );
  process.exit(2);
}
const [fair, size] = [parseEther(fairPrice), parseEther(wantedSize)];
const rfqSize = wantedRfqSize === undefined ? size / 4n : parseEther(wantedRfqSize);

const chain = defineChain({
  id: chainId,
  name: 'local',
  nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
  rpcUrls: { default: { http: [rpcUrl] } },
});
const account = privateKeyToAccount(accounts[1].privateKey);
const client = new OrderbookClient({ url: httpUrl, apiKey, chainId: String(chainId) });
const wallet = createWalletClient({ account, chain, transport: http() });
const trader = new Trader({ client, wallet, erc20Router: contracts.erc20Router });
// The local chain has no reorgs, makes blocks only with transactions, and shares this machine's clock.
const onLocalChain = { finalityBlocks: 0, slackSeconds: 2 };
const manager = new QuoteManager({ client, trader, lifeSeconds, quotesPerDay, ...onLocalChain });

manager.onEvent((event) => {
  if (event.type === 'POSTED') {
    const { side, size: posted, price, taker } = event.quote;
    console.log(`${side} ${formatEther(posted)} at ${formatEther(price)}${taker === null ? '' : ` for ${taker}`}`);
  } else if (event.type === 'FILLED') console.log(`filled: ${formatEther(event.left)} left of ${event.quote.quoteId}`);
  else if (event.type === 'REFUSED') console.log(`refused: ${event.reason}`);
  else if (event.type === 'TROUBLE') console.log(`${event.during}: ${event.error.message}`);
});
client.onConnection((state) => console.log(`connection: ${state}`));

// A private quote is half as far from the fair price.
const side = (percent) => ({
  price: (fair * (100n + percent)) / 100n,
  size,
  rfq: { price: (fair * (200n + percent)) / 200n, size: rfqSize },
});
manager.setTarget(pool, { bid: side(-2n), ask: side(2n) });
await manager.start();
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, async () => {
    await manager.close().catch((error) => console.log(error.message));
    client.close();
  });
}
