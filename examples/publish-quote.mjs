// Signs one ask and publishes it in a transaction of the maker's own: the service only reads it from the chain.
//   node examples/publish-quote.mjs READY_FILE [PRICE] [SIZE]
// READY_FILE is what `npm start` writes; PRICE and SIZE are whole tokens and contracts.
import { readFileSync } from 'node:fs';
import { createWalletClient, defineChain, http, parseAbi, parseEther, publicActions } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { OrderbookClient } from 'quotebook/client';

/** How long the service has to read the transaction from the chain. */
const PATIENCE_MS = 30_000;

const [readyFile = 'data/ready.json', price = '0.12', size = '1'] = process.argv.slice(2);
const isAbove0 = (word) => /^\d+(\.\d+)?$/.test(word) && Number(word) > 0;
if (![price, size].every(isAbove0)) {
  console.error(
    `PRICE and SIZE are decimal numbers above 0:\n  node examples/publish-quote.mjs READY_FILE [PRICE] [SIZE]`,
  );
  process.exit(2);
}
const ready = JSON.parse(readFileSync(readyFile, 'utf8'));
// A cluster's file has several gateways: any of them will do.
const { httpUrl, apiKey, rpcUrl, chainId, accounts, pools, contracts } = { ...ready, ...ready.gateways?.[0] };

const abi = parseAbi([
  'struct PoolKey { address base; address quote; address oracleAdapter; uint256 strike; uint256 maturity; bool isCallPool; }',
  'struct Signature { bytes32 r; bytes32 s; uint8 v; }',
  'struct Quote { PoolKey poolKey; address provider; address taker; uint256 price; uint256 size; bool isBuy; uint256 deadline; uint256 salt; Signature signature; }',
  'function add(Quote[] quotes)',
]);

// The chain of the stream contract. On Arbitrum it is Nova; the local chain has both roles.
const streamChain = defineChain({
  id: chainId,
  name: 'local',
  nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
  rpcUrls: { default: { http: [rpcUrl] } },
});
const account = privateKeyToAccount(accounts[1].privateKey);
const wallet = createWalletClient({ account, chain: streamChain, transport: http() }).extend(publicActions);

const client = new OrderbookClient({ url: httpUrl, apiKey, chainId: String(chainId) });
const terms = { side: 'ask', price: parseEther(price), size: parseEther(size) };
const { quoteId, posted } = await client.signQuote(account, pools[0], terms);
// The contract takes anything: what is wrong with the quote only a dry run says.
const [checked] = (await client.rest.checkQuotes([posted])).quotes;
if (checked.outcome !== 'created') throw new Error(checked.reasons.join(', '));

const followed = client.followEvents({ provider: account.address });
const shown = new Promise((resolve) => {
  followed.onEvent((event) => event.body.quoteId === quoteId && resolve(event));
});
await followed.whenLive();

const { poolKey } = posted;
const quote = {
  ...posted,
  poolKey: { ...poolKey, strike: BigInt(poolKey.strike), maturity: BigInt(poolKey.maturity) },
  price: BigInt(posted.price),
  size: BigInt(posted.size),
  deadline: BigInt(posted.deadline),
  salt: BigInt(posted.salt),
};
const hash = await wallet.writeContract({
  address: contracts.orderbookStream,
  abi,
  functionName: 'add',
  args: [[quote]],
});
const { status, gasUsed } = await wallet.waitForTransactionReceipt({ hash });
console.log(`${hash}: ${status}, ${gasUsed} gas`);
if (status !== 'success') throw new Error('The stream contract does not have the quote');
const timer = setTimeout(() => {
  throw new Error(`The service has not shown the quote within ${PATIENCE_MS / 1000} s`);
}, PATIENCE_MS);
console.log(`${(await shown).type} ${quoteId}`);
clearTimeout(timer);
client.close();
