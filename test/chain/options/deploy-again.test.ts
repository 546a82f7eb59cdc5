import t from 'tap';
import { ChainReader } from '../../../src/chain/contracts/chain-reader.js';
import { OptionSeries } from '../../../src/chain/options/option-series.js';
import { type DeployResult, PoolDeployer } from '../../../src/chain/options/pool-deployer.js';
import { IntentLog } from '../../../src/chain/wallet/intent-log.js';
import { openWallets } from '../../../src/chain/wallet/open-wallets.js';
import { Operator } from '../../../src/chain/wallet/operator.js';
import { limits } from '../../../src/config/limits.js';
import { systemClock } from '../../../src/system/clock.js';
import { formatExpiration } from '../../../src/wire/expiration.js';
import type { OptionTerms } from '../../../src/wire/options.js';
import { Market, ONE } from '../dev/market.js';
import { httpRpc } from '../following.js';
import { MemoryKeyValueStore } from '../memory-key-value-store.js';
import { recordingGasAccount } from '../recording-gas-account.js';
import { until } from '../../until.js';

const market = await Market.open(t);
const { client, operator: account } = market;
const { profile } = market.chain;
const near = market.pool('testWETH', 1800n, true);
const now = await market.now();

function option(strike: bigint): OptionTerms {
  const expiration = formatExpiration(near.poolKey.maturity);
  return { base: 'testWETH', quote: 'USDC', expiration, strike: strike * ONE, type: 'C' };
}

/** One process's deployer, whose wallet takes up what is kept. */
function life(kept: MemoryKeyValueStore) {
  const rpc = httpRpc(profile.settlement.rpcUrls);
  const intents = new IntentLog(kept);
  const troubles: string[] = [];
  const wallets = openWallets({
    profile,
    rpc: { settlement: rpc, stream: rpc },
    operator: { privateKey: account.privateKey, intents: { settlement: intents, stream: intents } },
    clock: systemClock,
    nowSeconds: () => now,
    limits,
    onTxTrouble: (_, what) => troubles.push(what),
  });
  if (wallets === null) throw new Error('there is an operator');
  const { settlement: wallet } = wallets;
  const reader = new ChainReader(rpc, profile.contracts.multicall3?.address ?? null, {
    callsPerBatch: limits.rpcCallsPerBatch,
    batchesInFlight: limits.rpcBatchesInFlight,
    gasPerCall: limits.rpcGasPerCall,
    gasPerCheck: limits.rpcGasPerCheck,
  });
  const operator = new Operator(wallet, reader, () => undefined, systemClock, limits.txPatienceMs);
  const asked: object[] = [];
  const send = operator.send.bind(operator);
  operator.send = (...parameters) => {
    asked.push(parameters);
    return send(...parameters);
  };
  const deployer = new PoolDeployer(
    operator,
    reader,
    profile.contracts.poolFactory.address,
    new OptionSeries(profile),
    { whenKnown: () => Promise.resolve(true) },
    () => now,
    limits.optionsInFlight,
  );
  return { deployer, troubles, wallet, asked };
}

const sentSoFar = (): Promise<number> => client.getTransactionCount({ address: account.address, blockTag: 'pending' });

/** Asks a process for the pool, which ends before the deployment is mined. Gives what it keeps. */
async function leaveUnderWay(strike: bigint): Promise<MemoryKeyValueStore> {
  const kept = new MemoryKeyValueStore();
  const first = life(kept);
  const before = await sentSoFar();
  await client.setAutomine(false);
  void first.deployer.deploy([option(strike)], recordingGasAccount());
  await until(async () => (await sentSoFar()) > before);
  first.wallet.stop();
  return kept;
}

async function whileMining(asked: Promise<DeployResult>): Promise<DeployResult> {
  const ended = { yet: false };
  const over = asked.finally(() => (ended.yet = true));
  await until(async () => {
    await client.mine({ blocks: 1 });
    return ended.yet;
  });
  await client.setAutomine(true);
  return over;
}

t.test('a pool that an earlier run has on its way is not paid for again', async (t) => {
  const kept = await leaveUnderWay(2300n);
  const before = await sentSoFar();
  const second = life(kept.reopened());
  await until(() => second.troubles.includes('an earlier run left it unsettled'));
  const asked = second.deployer.deploy([option(2300n)], recordingGasAccount());
  // It has not found the pool mined already.
  await until(() => second.asked.length > 0);
  t.match(await whileMining(asked), { items: [{ type: 'CREATED' }] });
  t.equal(await sentSoFar(), before, 'nothing more was sent');
  second.wallet.stop();
});

t.test('where nobody remembers it, the chain’s own answer is that the pool exists', async (t) => {
  await leaveUnderWay(2400n);
  const second = life(new MemoryKeyValueStore());
  const asked = second.deployer.deploy([option(2400n)], recordingGasAccount());
  const { poolAddress } = await market.poolAddress({ ...near.poolKey, strike: 2400n * ONE });
  t.strictSame(await whileMining(asked), { type: 'ANSWERED', items: [{ type: 'EXISTED', poolAddress }] });
  second.wallet.stop();
});
