import fc from 'fast-check';
import t from 'tap';
import { encodeFunctionData, encodeFunctionResult, getAddress } from 'viem';
import { encodeAdd } from '../../../src/chain/contracts/abi-encoding.js';
import { multicall3Abi, orderbookStreamAbi, poolAbi, poolFactoryAbi } from '../../../src/chain/contracts/abi.js';
import { encodeAggregate3 } from '../../../src/chain/contracts/multicall.js';
import type { IdentifiedQuote } from '../../../src/chain/contracts/quote-types.js';
import { decodeGetPoolAddress, encodeGetPoolAddress } from '../../../src/chain/follow/pool-addresses.js';
import { filledAmountCall, validityCall } from '../../../src/chain/follow/quote-states.js';
import { ZERO_ADDRESS } from '../../../src/engine/quote.js';
import { hexOf } from '../hex-arbitrary.js';

const address = hexOf(20);
const uint256 = fc.oneof(fc.bigInt(0n, 2n ** 256n - 1n), fc.bigInt(0n, 10n ** 20n), fc.constant(0n));
const seconds = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER });

const quote: fc.Arbitrary<IdentifiedQuote> = fc.record({
  quoteId: hexOf(32),
  provider: address,
  taker: fc.oneof(address, fc.constant(ZERO_ADDRESS)),
  price: uint256,
  size: uint256,
  isBuy: fc.boolean(),
  deadline: seconds,
  salt: seconds,
  signature: fc.record({ r: hexOf(32), s: hexOf(32), v: fc.integer({ min: 0, max: 255 }) }),
  pool: fc.record({
    poolAddress: address,
    poolKey: fc.record({
      base: address.map((each) => getAddress(each)),
      quote: address.map((each) => getAddress(each)),
      oracleAdapter: address.map((each) => getAddress(each)),
      strike: uint256,
      maturity: seconds,
      isCallPool: fc.boolean(),
    }),
  }),
});

const onChain = ({ deadline, salt, ...rest }: IdentifiedQuote) => ({
  ...rest,
  deadline: BigInt(deadline),
  salt: BigInt(salt),
});

t.test('publishing is encoded as viem encodes it', async (t) => {
  fc.assert(
    fc.property(fc.array(quote, { maxLength: 5 }), (quotes) => {
      const args = quotes.map((each) => {
        const { poolKey } = each.pool;
        return { ...onChain(each), poolKey: { ...poolKey, maturity: BigInt(poolKey.maturity) } };
      });
      return encodeAdd(quotes) === encodeFunctionData({ abi: orderbookStreamAbi, functionName: 'add', args: [args] });
    }),
  );
  t.pass('over random quotes');
});

t.test('what a pool is asked of a quote is encoded as viem encodes it', async (t) => {
  fc.assert(
    fc.property(quote, uint256, (each, size) => {
      const { pool, provider, taker, quoteId, signature } = each;
      const anyone = '0x000000000000000000000000000000000000dEaD';
      const filler = taker === ZERO_ADDRESS ? anyone : taker;
      const filled = { abi: poolAbi, functionName: 'getQuoteOBFilledAmount', args: [provider, quoteId] } as const;
      const valid = {
        abi: poolAbi,
        functionName: 'isQuoteOBValid',
        args: [filler, onChain(each), size, signature],
      } as const;
      t.same(filledAmountCall(each), { to: pool.poolAddress, data: encodeFunctionData(filled) });
      t.same(validityCall(each, size), {
        to: pool.poolAddress,
        data: encodeFunctionData(valid),
        runsForeignCode: true,
      });
    }),
    { numRuns: 50 },
  );
});

t.test('many calls in one are encoded as viem encodes them', async (t) => {
  const call = fc.record({ to: address, data: fc.integer({ min: 0, max: 100 }).chain(hexOf) });
  fc.assert(
    fc.property(fc.array(call, { maxLength: 6 }), (calls) => {
      const args = calls.map(({ to, data }) => ({ target: to, allowFailure: true, callData: data }));
      const data = encodeFunctionData({ abi: multicall3Abi, functionName: 'aggregate3', args: [args] });
      return encodeAggregate3(calls) === data;
    }),
  );
  t.pass('over random calls');
});

t.test('the factory is asked for a pool, and its answer read, as viem does it', async (t) => {
  fc.assert(
    fc.property(quote, fc.boolean(), ({ pool: { poolKey, poolAddress } }, isDeployed) => {
      const about = { abi: poolFactoryAbi, functionName: 'getPoolAddress' } as const;
      const args = [{ ...poolKey, maturity: BigInt(poolKey.maturity) }] as const;
      t.equal(encodeGetPoolAddress(poolKey), encodeFunctionData({ ...about, args }));
      const answer = encodeFunctionResult({ ...about, result: [poolAddress, isDeployed] });
      t.same(decodeGetPoolAddress(answer, poolAddress), { poolAddress, isDeployed });
    }),
    { numRuns: 50 },
  );
});
