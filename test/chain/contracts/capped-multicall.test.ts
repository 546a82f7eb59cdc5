import t from 'tap';
import { concat, encodeFunctionData, numberToHex, toFunctionSelector } from 'viem';
import type { CallResult, ContractCall } from '../../../src/chain/contracts/abi-encoding.js';
import { erc20Abi } from '../../../src/chain/contracts/abi.js';
import { ChainReader } from '../../../src/chain/contracts/chain-reader.js';
import { limits } from '../../../src/config/limits.js';
import type { Rpc } from '../../../src/chain/rpc/rpc-client.js';
import type { Hex } from '../../../src/engine/quote.js';
import { address } from '../../engine/samples.js';
import { Market } from '../dev/market.js';
import { httpRpc } from '../following.js';
import { ANSWERS_ENDLESSLY, BURNS_ALL_GAS, LOOPS_FOR_EVER, REFUSES } from '../hostile-contracts.js';
import { RpcProxy } from '../rpc-proxy.js';

const market = await Market.open(t);
const { chain, client, maker } = market;
const LIMITS = {
  callsPerBatch: limits.rpcCallsPerBatch,
  batchesInFlight: limits.rpcBatchesInFlight,
  gasPerCall: limits.rpcGasPerCall,
  gasPerCheck: limits.rpcGasPerCheck,
};
const multicall3 = chain.contracts.multicall3;
const honest = market.token('USDC');
const bad = address(0xbad);
const BROKEN: CallResult = { reverted: true, data: '0x' };

const balanceIn = (to: Hex): ContractCall => {
  const data = encodeFunctionData({ abi: erc20Abi, functionName: 'balanceOf', args: [maker.address] });
  return { to, data, runsForeignCode: true };
};
const balance = numberToHex(await market.balance(honest, maker.address), { size: 32 });
const has: CallResult = { reverted: false, data: balance };

/** Reads through the node at `url`, and tells which contracts tripped and how many requests it took. */
function opened(url = chain.rpcUrl) {
  const rpc = httpRpc([url]);
  const tripped = new Set<Hex>();
  const trips: Hex[] = [];
  let requests = 0;
  const counted: Rpc = { request: (args) => (requests++, rpc.request(args)) };
  const breaker = {
    isOpen: (contract: Hex) => tripped.has(contract),
    trip({ to }: ContractCall): void {
      tripped.add(to);
      trips.push(to);
    },
  };
  const reader = new ChainReader(counted, multicall3, LIMITS, breaker);
  return { reader, trips, requests: () => requests };
}

for (const [what, code] of [
  ['burns all gas', BURNS_ALL_GAS],
  ['loops for ever', LOOPS_FOR_EVER],
  ['pays for an endless answer', ANSWERS_ENDLESSLY],
] as const) {
  t.test(`a contract that ${what} fails alone in its batch, and is asked once`, async (t) => {
    await client.setCode({ address: bad, bytecode: code });
    const { reader, trips, requests } = opened();
    const calls = [
      balanceIn(bad),
      balanceIn(bad),
      ...Array.from({ length: 50 }, () => balanceIn(honest)),
      balanceIn(bad),
    ];
    const answers = await reader.multicall(calls);
    t.strictSame(answers, [BROKEN, BROKEN, ...Array.from({ length: 50 }, () => has), BROKEN]);
    t.strictSame(trips, [bad]);
    t.equal(requests(), 1, 'in one request');
    t.strictSame(await reader.multicall([balanceIn(bad)]), [BROKEN]);
    t.equal(requests(), 1, 'and is asked nothing more');
    t.notOk(await reader.isAnswered(balanceIn(bad)), 'but by its probe');
    await client.setCode({ address: bad, bytecode: (await client.getCode({ address: honest })) ?? '0x' });
    t.ok(await reader.isAnswered(balanceIn(bad)));
  });
}

t.test('a batch of more burners than its gas pays for is asked on until each was asked once', async (t) => {
  const burners = Array.from({ length: 80 }, (_, i) => address(0xb00 + i));
  for (const burner of burners) await client.setCode({ address: burner, bytecode: LOOPS_FOR_EVER });
  const { reader, trips } = opened();
  const answers = await reader.multicall([...burners.map(balanceIn), balanceIn(honest)]);
  t.strictSame(answers, [...burners.map(() => BROKEN), has]);
  t.strictSame(trips, burners);
});

t.test('a contract that refuses for little gas does not trip, whatever it says', async (t) => {
  const saying = (selector: Hex): Hex => concat(['0x63', selector, '0x60e01b60005260046000fd']);
  const forged = ['GasCapReached()', 'NotAsked()'].map((name) => saying(toFunctionSelector(name)));
  for (const code of [REFUSES, ...forged]) {
    await client.setCode({ address: bad, bytecode: code });
    const { reader, trips, requests } = opened();
    t.strictSame(await reader.multicall([balanceIn(bad), balanceIn(honest)]), [BROKEN, has]);
    t.strictSame([trips, requests()], [[], 1]);
  }
});

t.test('a node that takes no state override is asked through Multicall3 itself, and now and then again', async (t) => {
  const proxy = await RpcProxy.open(chain.rpcUrl);
  t.teardown(() => proxy.close());
  let refusals = 0;
  proxy.trick = ({ method, params }) => {
    if (method !== 'eth_call' || params.length < 3) return 'PASS';
    refusals++;
    return { error: { code: -32602, message: 'too many arguments, want at most 2' } };
  };
  await client.setCode({ address: bad, bytecode: LOOPS_FOR_EVER });
  const { reader, trips, requests } = opened(proxy.url);
  for (let times = 0; times < 2; times++) {
    t.strictSame(await reader.multicall([balanceIn(bad), balanceIn(honest), balanceIn(bad)]), [BROKEN, has, BROKEN]);
  }
  t.strictSame([...new Set(trips)], [bad]);
  t.equal(refusals, 1);
  for (let times = 0; times < 100; times++) await reader.multicall([balanceIn(honest)]);
  t.equal(refusals, 2, 'one batch in a hundred');
  proxy.trick = () => 'PASS';
  for (let times = 0; times < 100; times++) await reader.multicall([balanceIn(honest)]);
  trips.length = 0;
  const other = address(0xbae);
  await client.setCode({ address: other, bytecode: LOOPS_FOR_EVER });
  const before = requests();
  t.strictSame(await reader.multicall([balanceIn(other), balanceIn(honest)]), [BROKEN, has]);
  t.strictSame([trips, requests() - before], [[other], 1], 'which is capped again once the node takes it');
});
