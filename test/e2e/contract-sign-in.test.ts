import t from 'tap';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { OrderbookClient } from 'quotebook/client';
import type { ChainProfile } from '../../src/chain/contracts/deployments.js';
import { startLocalChain } from '../../src/chain/dev/local-chain.js';
import type { Hex } from '../../src/engine/quote.js';
import { deployContractWallet } from '../chain/contract-wallet.js';
import { RpcProxy } from '../chain/rpc-proxy.js';
import { documentedPorts } from './documented-network.js';
import { startTestService } from './running-service.js';

/** An account that is a contract proves its address by the signature of its owner (EIP-1271). */
const chain = await startLocalChain();
t.teardown(() => chain.stop());
const proxy = await RpcProxy.open(chain.rpcUrl);
t.teardown(() => proxy.close());
const through = (profile: ChainProfile): ChainProfile => ({ ...profile, rpcUrls: [proxy.url], wsUrl: null });
const { settlement, stream } = chain.profile;
const running = await startTestService({
  chain,
  privacy: 'proven',
  profile: { ...chain.profile, settlement: through(settlement), stream: through(stream) },
  limits: { rpcTimeoutMs: 300, rpcAttempts: 1 },
});
t.teardown(() => running.stop());
const chainId = String(chain.chainId);
const client = new OrderbookClient({ url: running.httpUrl, chainId, apiKey: running.apiKey }, documentedPorts);
t.teardown(() => client.close());

const [owner, stranger] = [privateKeyToAccount(generatePrivateKey()), privateKeyToAccount(generatePrivateKey())];
const wallet = await deployContractWallet(chain, owner.address);
const [pool] = chain.pools;
if (pool === undefined) throw new Error('The local chain lacks pools');

const signIn = (by: { signMessage(terms: { readonly message: string }): Promise<Hex> }, address = wallet) =>
  client.signIn({ address, signMessage: (message) => by.signMessage({ message }) });
const refused = (status: number, message: RegExp) => ({ name: 'ApiError', status, message });
const notSigned = (address: Hex) => refused(400, new RegExp(`^The signature is not of ${address.toLowerCase()}$`));

await t.test('a signature of another account is refused, and proves neither address', async (t) => {
  await t.rejects(signIn(stranger), notSigned(wallet));
  await t.rejects(signIn({ signMessage: async () => '0x1234' }), notSigned(wallet), 'the contract reverts');
  await t.rejects(
    signIn({ signMessage: () => owner.signMessage({ message: 'another message' }) }),
    notSigned(wallet),
    'another message',
  );
  t.equal(client.session, null);
});

await t.test('an address without a contract, and a contract without the function, confirm nothing', async (t) => {
  await t.rejects(signIn(owner, stranger.address), notSigned(stranger.address));
  await t.rejects(signIn(owner, pool.poolAddress), notSigned(pool.poolAddress));
});

await t.test('while the chain cannot be reached the answer says so, and the nonce is not spent', async (t) => {
  const nonce = await client.rest.signInNonce();
  const once = { ...documentedPorts };
  const again = new OrderbookClient({ url: running.httpUrl, chainId, apiKey: running.apiKey }, once);
  t.teardown(() => again.close());
  again.rest.signInNonce = () => Promise.resolve(nonce);
  const terms = { address: wallet, signMessage: (message: string) => owner.signMessage({ message }) };
  for (const trick of ['CUT', 'HANG'] as const) {
    proxy.trick = () => trick;
    await t.rejects(again.signIn(terms), refused(503, /^The chain does not answer$/), trick);
  }
  proxy.trick = () => 'PASS';
  t.match(await again.signIn(terms), { address: wallet.toLowerCase(), token: /^qbs_/ });
});

await t.test("the owner's signature proves the contract's address", async (t) => {
  const own = { poolAddress: pool.poolAddress, side: 'ask', taker: wallet } as const;
  await t.rejects(client.rest.rfqQuotes(own), refused(403, /has not proven/));
  t.match(await signIn(owner), { address: wallet.toLowerCase(), token: /^qbs_/ });
  t.strictSame(await client.rest.rfqQuotes(own), []);
  await t.rejects(
    client.rest.rfqQuotes({ ...own, taker: owner.address }),
    refused(403, /has not proven/),
    'not its own',
  );
});
