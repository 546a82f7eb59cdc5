// Asks makers for a price, gathers the best of private and public quotes that cover a size, and fills them on the
// chain.
//   node examples/taker.mjs READY_FILE [SIZE] [POOL_NUMBER]
// READY_FILE is what `npm start` writes; SIZE in contracts to buy. The account holds the tokens and has approved the
// router.
import { readFileSync } from 'node:fs';
import {
  createPublicClient,
  createWalletClient,
  defineChain,
  formatEther,
  http,
  parseAbi,
  parseEther,
  zeroAddress,
} from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { OrderbookClient } from 'quotebook/client';

/** How long makers have to answer. */
const PATIENCE_MS = 3_000;

const poolAbi = parseAbi([
  'struct QuoteOB { address provider; address taker; uint256 price; uint256 size; bool isBuy; uint256 deadline; uint256 salt; }',
  'struct Signature { uint8 v; bytes32 r; bytes32 s; }',
  'function fillQuoteOB(QuoteOB quote, uint256 size, Signature signature, address referrer)',
]);

const [readyFile = 'data/ready.json', wantedSize = '1', poolNumber = '0'] = process.argv.slice(2);
const ready = JSON.parse(readFileSync(readyFile, 'utf8'));
// A cluster's file has several gateways: any of them will do.
const { httpUrl, apiKey, rpcUrl, chainId, accounts, pools } = { ...ready, ...ready.gateways?.[0] };
const account = privateKeyToAccount(accounts[2].privateKey);
const taker = account.address;
const { poolAddress } = pools[Number(poolNumber)];
const size = parseEther(wantedSize);

const client = new OrderbookClient({ url: httpUrl, apiKey, chainId: String(chainId) });
const quotes = client.followQuotes({ poolAddress, side: 'ask', taker });
await quotes.whenLive();

// The first private quote ends the wait; without one the public quotes have to do.
const answered = new Promise((resolve) => {
  const timer = setTimeout(() => resolve('nobody answered'), PATIENCE_MS);
  quotes.onFact(({ type, body }) => {
    if (type !== 'POST_QUOTE' || body.taker === zeroAddress) return;
    clearTimeout(timer);
    resolve(`${body.provider} offers ${formatEther(BigInt(body.fillableSize))} at ${formatEther(BigInt(body.price))}`);
  });
});
await client.requestQuotes({ poolAddress, side: 'ask', size, taker });
console.log(`asked for ${formatEther(size)}: ${await answered}`);

const chain = defineChain({
  id: chainId,
  name: 'local',
  nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
  rpcUrls: { default: { http: [rpcUrl] } },
});
const wallet = createWalletClient({ account, chain, transport: http() });
const reader = createPublicClient({ chain, transport: http(), pollingInterval: 100 });

let left = size;
let premium = 0n;
for (const quote of await client.rest.quotes({ poolAddress, side: 'ask', size: String(size), taker })) {
  const fillable = BigInt(quote.fillableSize);
  const part = fillable < left ? fillable : left;
  const { provider, isBuy, signature } = quote;
  const [price, whole, deadline, salt] = [quote.price, quote.size, quote.deadline, quote.salt].map(BigInt);
  const terms = { provider, taker: quote.taker, price, size: whole, isBuy, deadline, salt };
  const fill = {
    address: poolAddress,
    abi: poolAbi,
    functionName: 'fillQuoteOB',
    args: [terms, part, signature, zeroAddress],
  };
  // A call first: it fails with the contract's reason, and costs nothing.
  await reader.simulateContract({ account, ...fill });
  const hash = await wallet.writeContract(fill);
  // Nothing replaces this one. Looking for replacements, it may miss the block that has it, and wait for the next.
  const { status } = await reader.waitForTransactionReceipt({ hash, checkReplacement: false });
  if (status !== 'success') throw new Error(`the fill of ${quote.quoteId} reverted: ${hash}`);
  console.log(`bought ${formatEther(part)} at ${formatEther(price)} from ${provider}`);
  left -= part;
  premium += (part * price) / 10n ** 18n;
}
client.close();
console.log(`covered ${formatEther(size - left)} of ${formatEther(size)}, premium ${formatEther(premium)}`);
if (left > 0n) process.exitCode = 1;
