// Asks makers for a price, gathers the best of private and public quotes that cover a size within a limit, shows what
// they cost, and fills them on the chain.
//   node examples/taker.mjs READY_FILE [SIZE] [POOL_NUMBER] [LIMIT_PRICE]
// READY_FILE is what `npm start` writes; SIZE in contracts to buy; LIMIT_PRICE, without the fee, as quotes have it: base
// tokens per contract of a call, quote tokens per contract and unit of strike of a put.
import { readFileSync } from 'node:fs';
import { createWalletClient, defineChain, formatEther, formatUnits, http, parseEther, zeroAddress } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { OrderbookClient } from 'quotebook/client';
import { NotEnoughMeansError, Trader } from 'quotebook/client/trading';

/** How long makers have to answer. */
const PATIENCE_MS = 3_000;

const [readyFile = 'data/ready.json', wantedSize = '1', poolNumber = '0', limit = '1'] = process.argv.slice(2);
const ready = JSON.parse(readFileSync(readyFile, 'utf8'));
// A cluster's file has several gateways: any of them will do.
const { httpUrl, apiKey, rpcUrl, chainId, accounts, pools, contracts } = { ...ready, ...ready.gateways?.[0] };
const account = privateKeyToAccount(accounts[2].privateKey);
const taker = account.address;
const pool = pools[Number(poolNumber)];
const isAbove0 = (word) => /^\d+(\.\d+)?$/.test(word) && Number(word) > 0;
if (pool === undefined || ![wantedSize, limit].every(isAbove0)) {
  console.error(
    `POOL_NUMBER is from 0 to ${pools.length - 1}, SIZE and LIMIT_PRICE are decimal numbers above 0:\n  node examples/taker.mjs READY_FILE [SIZE] [POOL_NUMBER] [LIMIT_PRICE]`,
  );
  process.exit(2);
}
const { poolAddress } = pool;
const [size, limitPrice] = [parseEther(wantedSize), parseEther(limit)];

const chain = defineChain({
  id: chainId,
  name: 'local',
  nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
  rpcUrls: { default: { http: [rpcUrl] } },
});
const client = new OrderbookClient({ url: httpUrl, apiKey, chainId: String(chainId) });
const wallet = createWalletClient({ account, chain, transport: http() });
const trader = new Trader({ client, wallet, erc20Router: contracts.erc20Router });

const quotes = client.followQuotes({ poolAddress, side: 'ask', taker });
await quotes.whenLive();
// The first private quote ends the wait; without one the public quotes have to do.
const answered = new Promise((resolve) => {
  const timer = setTimeout(() => resolve('nobody answered'), PATIENCE_MS);
  quotes.onEvent(({ type, body }) => {
    if (type !== 'POST_QUOTE' || body.taker === zeroAddress) return;
    clearTimeout(timer);
    resolve(`${body.provider} offers ${formatEther(BigInt(body.fillableSize))} at ${formatEther(BigInt(body.price))}`);
  });
});
await client.requestQuotes({ poolAddress, side: 'ask', size, taker });
console.log(`asked for ${formatEther(size)}: ${await answered}`);
quotes.close();

try {
  const plan = await trader.plan(pool, { side: 'ask', size, limitPrice });
  const pays = formatUnits(-plan.change, plan.decimals);
  console.log(`${formatEther(plan.covered)} for ${pays}, of which fee ${formatEther(plan.fee)}`);
  const { fills, failed, filled, shortfall } = await trader.fill(plan);
  for (const fill of fills) {
    const { quote } = plan.fills.find((each) => each.quote.quoteId === fill.quoteId);
    console.log(`bought ${formatEther(fill.size)} at ${formatEther(BigInt(quote.price))} from ${quote.provider}`);
  }
  for (const { quoteId, reason } of failed) console.log(`not filled: ${quoteId}, ${reason}`);
  const premium = fills.reduce((sum, fill) => sum + fill.premium, 0n);
  console.log(`covered ${formatEther(filled)} of ${wantedSize}, premium ${formatEther(premium)}`);
  if (shortfall > 0n) process.exitCode = 1;
} catch (error) {
  if (!(error instanceof NotEnoughMeansError)) throw error;
  console.log(error.message);
  process.exitCode = 1;
}
client.close();
