import t from 'tap';
import type { ContractCall } from '../../../src/chain/contracts/abi-encoding.js';
import { ChainReader } from '../../../src/chain/contracts/chain-reader.js';
import { acceptsSignature } from '../../../src/chain/contracts/contract-signature.js';
import { ContractBreaker } from '../../../src/chain/follow/contract-breaker.js';
import { limits } from '../../../src/config/limits.js';
import type { Hex } from '../../../src/engine/quote.js';
import { address } from '../../engine/samples.js';
import { ManualClock } from '../../system/manual-clock.js';
import { Market } from '../dev/market.js';
import { httpRpc } from '../following.js';
import { BURNS_ALL_GAS, REFUSES } from '../hostile-contracts.js';

const market = await Market.open(t);
const LIMITS = {
  callsPerBatch: limits.rpcCallsPerBatch,
  batchesInFlight: limits.rpcBatchesInFlight,
  gasPerCall: limits.rpcGasPerCall,
  gasPerCheck: limits.rpcGasPerCheck,
};
const token = address(0xbad);
const check: ContractCall = { to: token, data: '0x01', runsForeignCode: true };

/** Reads through a breaker as the service's reader does. */
function opened(multicall3: Hex | null) {
  const breaker = new ContractBreaker(
    new ManualClock(),
    {
      contracts: limits.trippedContracts,
      pauseMs: limits.contractPauseMs,
      maxPauseMs: limits.contractMaxPauseMs,
      probeGapMs: limits.contractProbeGapMs,
    },
    async () => false,
    () => undefined,
  );
  return { breaker, reader: new ChainReader(httpRpc([market.chain.rpcUrl]), multicall3, LIMITS, breaker) };
}

for (const [how, multicall3, code] of [
  ['without Multicall3, of a contract that refuses', null, REFUSES],
  ['without Multicall3, of a contract that burns all gas', null, BURNS_ALL_GAS],
  ['with Multicall3, of a contract that burns all gas', market.chain.contracts.multicall3, BURNS_ALL_GAS],
] as const) {
  t.test(`a wrong signature does not close a contract to the checks of quotes: ${how}`, async (t) => {
    await market.client.setCode({ address: token, bytecode: code });
    const { breaker, reader } = opened(multicall3);
    t.equal(await acceptsSignature(reader, token, 'sign in', '0x1234'), false);
    t.notOk(breaker.isOpen(token));
    await reader.multicall([check]);
    t.ok(breaker.isOpen(token), 'the same failure of a check does');
  });
}
