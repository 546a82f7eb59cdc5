import t from 'tap';
import { encodeFunctionData } from 'viem';
import { poolAbi, poolFactoryAbi } from '../../src/chain/contracts/abi.js';
import { sendTogether } from '../../src/chain/dev/dev-client.js';
import { type PoolKey, ZERO_ADDRESS } from '../../src/engine/quote.js';
import { onChain } from '../chain/dev-actions.js';
import { Market, ONE } from '../chain/dev/market.js';
import { RestClient } from '../e2e/rest-client.js';
import { startTestService } from '../e2e/running-service.js';
import { optionOf } from '../e2e/wire-option.js';

/** As many as one request may hold in the long run of the suite, fewer in the quick one. */
const COUNT = process.env.QUOTEBOOK_TEST_LONG === undefined ? 60 : 1000;
const BASES = ['testWETH', 'WETH', 'WBTC', 'LINK', 'ARB', 'PREMIA', 'DAI'];
const GAS = 1_000_000n;

const running = await startTestService();
t.teardown(() => running.stop());
const { chain } = running;
const market = new Market(chain);
const { operator, maker } = market;
const rest = new RestClient(running.httpUrl, running.apiKey);
const expiration = optionOf(chain, market.pool('testWETH', 1800n, true)).expiration;
const { oracleAdapter, maturity } = market.pool('testWETH', 1800n, true).poolKey;

/** Different options of one maturity: calls and puts of every base, at strikes of two digits from 10 up. */
const keys = Array.from({ length: COUNT }, (_, i): PoolKey => {
  const base = market.token(BASES[i % BASES.length] ?? '');
  const strike = BigInt(10 + (Math.floor(i / BASES.length / 2) % 90)) * ONE;
  const isCallPool = Math.floor(i / BASES.length) % 2 === 0;
  return { base, quote: market.token('USDC'), oracleAdapter, strike, maturity, isCallPool };
});

await sendTogether(
  market.client,
  keys.map((key) => ({
    from: maker.address,
    to: chain.contracts.poolFactory,
    data: encodeFunctionData({ abi: poolFactoryAbi, functionName: 'deployPool', args: [onChain(key)] }),
    gas: GAS,
  })),
);
const pools = await Promise.all(keys.map((key) => market.poolAddress(key)));
// The operator writes every other option and holds the rest.
await sendTogether(
  market.client,
  pools.map(({ poolAddress }, i) => {
    const [from, to] = i % 2 === 0 ? [operator.address, maker.address] : [maker.address, operator.address];
    const args = [from, to, ONE / 100n, ZERO_ADDRESS] as const;
    const data = encodeFunctionData({ abi: poolAbi, functionName: 'writeFrom', args });
    return { from, to: poolAddress, data, gas: GAS };
  }),
);
await market.moveTimeTo(maturity);
// Until the service has seen that moment pass: then what the chain began with is no longer listed.
while (((await rest.get(`/pools?base=testWETH&expiration=${expiration}`)).body as unknown as unknown[]).length > 0);

await t.test(
  `${COUNT} positions are settled by one request, each by one transaction, without a nonce lost`,
  async (t) => {
    const options = keys.map((poolKey) => optionOf(chain, { poolKey }));
    const sent = () => market.client.getTransactionCount({ address: operator.address });
    const before = await sent();
    const { status, body } = await rest.post('/pool/settle', options);
    t.strictSame([status, body], [200, { success: options, failed: [] }]);
    t.equal(await sent(), before + COUNT);
    const pending = await market.client.getTransactionCount({ address: operator.address, blockTag: 'pending' });
    t.equal(pending, before + COUNT, 'nothing is left in the mempool');
  },
);
