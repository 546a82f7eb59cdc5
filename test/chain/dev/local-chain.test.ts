import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setImmediate } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { maxUint256, parseAbi } from 'viem';
import { privateKeyToAddress } from 'viem/accounts';
import {
  erc20Abi,
  multicall3Abi,
  orderbookStreamAbi,
  poolFactoryAbi,
  volatilityOracleAbi,
} from '../../../src/chain/contracts/abi.js';
import { MULTICALL3 } from '../../../src/chain/contracts/deployments.js';
import { startAnvil } from '../../../src/chain/dev/anvil.js';
import { devTokens } from '../../../src/chain/dev/contracts.js';
import { deployer } from '../../../src/chain/dev/dev-client.js';
import { devMaturities } from '../../../src/chain/dev/dev-pools.js';
import { attachLocalChain, LOCAL_CHAIN_ID, startLocalChain } from '../../../src/chain/dev/local-chain.js';
import type { Hex } from '../../../src/engine/quote.js';
import { DevActions } from '../dev-actions.js';
import { signOffer } from '../sign-quote.js';
import { until } from '../../until.js';
import { Market, ONE } from './market.js';

async function answers(rpcUrl: string): Promise<boolean> {
  return fetch(rpcUrl, { method: 'POST' }).then(
    () => true,
    () => false,
  );
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

t.test('a chain that is ready', async (t) => {
  const market = await Market.open(t);
  const { chain, client } = market;

  t.test('has the id of the test network, and every contract of its profile has code', async (t) => {
    t.equal(await client.getChainId(), LOCAL_CHAIN_ID);
    const { contracts, tokens, vaults } = chain.profile;
    const addresses = [...Object.values(contracts), ...tokens, ...vaults].map((entry) => entry?.address ?? '0x');
    for (const address of addresses) t.ok(await client.getCode({ address }), address);
    t.equal(chain.profile.settlement, chain.profile.stream, 'one chain plays both parts');
  });

  t.test('has ten accounts with ether, every token and an approved router, and not the deployer', async (t) => {
    t.equal(chain.accounts.length, 10);
    for (const { address, privateKey } of chain.accounts) {
      t.equal(privateKeyToAddress(privateKey), address);
      t.ok((await client.getBalance({ address })) >= 9_000n * ONE);
      t.not(address, deployer);
      for (const { symbol, granted, decimals } of devTokens) {
        const token = { address: market.token(symbol), abi: erc20Abi } as const;
        t.equal(
          await client.readContract({ ...token, functionName: 'balanceOf', args: [address] }),
          granted * 10n ** BigInt(decimals),
        );
        const args = [address, chain.contracts.erc20Router] as const;
        t.equal(await client.readContract({ ...token, functionName: 'allowance', args }), maxUint256);
      }
    }
  });

  t.test('its node signs for these accounts alone', async (t) => {
    const addresses = chain.accounts.map(({ address }) => address);
    t.strictSame(await client.getAddresses(), addresses);
  });

  t.test('has the eight symbols with their real decimals', async (t) => {
    const decimals: Record<string, number> = {};
    for (const [symbol, address] of Object.entries(chain.tokens)) {
      const token = { address, abi: erc20Abi } as const;
      t.equal(await client.readContract({ ...token, functionName: 'symbol' }), symbol);
      decimals[symbol] = await client.readContract({ ...token, functionName: 'decimals' });
    }
    const eighteen = { testWETH: 18, WETH: 18, PREMIA: 18, LINK: 18, DAI: 18, ARB: 18 };
    t.same(decimals, { ...eighteen, WBTC: 8, USDC: 6 });
  });

  t.test('has calls and puts of several strikes and maturities, all of them deployed', async (t) => {
    for (const { poolAddress, poolKey } of chain.pools) {
      t.same(await market.poolAddress(poolKey), { poolAddress, isDeployed: true });
    }
    const weth = chain.pools.filter(({ poolKey }) => poolKey.base === market.token('testWETH'));
    t.ok(new Set(weth.map(({ poolKey }) => poolKey.strike)).size >= 3);
    t.ok(new Set(weth.map(({ poolKey }) => poolKey.maturity)).size >= 2);
    t.same(new Set(weth.map(({ poolKey }) => poolKey.isCallPool)), new Set([true, false]));
    const logs = await client.getContractEvents({
      address: chain.contracts.poolFactory,
      abi: poolFactoryAbi,
      eventName: 'PoolDeployed',
      fromBlock: BigInt(chain.profile.contracts.poolFactory.startBlock),
    });
    t.equal(logs.length, chain.pools.length, 'each has its event after the start block');
  });

  t.test('answers many calls in one, each failing alone', async (t) => {
    const target = chain.contracts.poolFactory;
    const { result } = await client.simulateContract({
      address: chain.contracts.multicall3,
      abi: multicall3Abi,
      functionName: 'aggregate3',
      args: [
        [
          { target, allowFailure: true, callData: '0xdeadbeef' },
          { target: chain.contracts.multicall3, allowFailure: false, callData: '0x42cbb15c' }, // getBlockNumber()
        ],
      ],
    });
    t.same(
      result.map(({ success }) => success),
      [false, true],
    );
    t.equal(BigInt(result[1]?.returnData ?? 0), await client.getBlockNumber());
  });

  t.test('has Multicall3 at its usual address, and answers as older libraries ask', async (t) => {
    t.equal(chain.contracts.multicall3, MULTICALL3);
    const abi = parseAbi([
      'struct Call { address target; bytes callData; }',
      'struct Result { bool success; bytes returnData; }',
      'function tryAggregate(bool requireSuccess, Call[] calls) payable returns (Result[] returnData)',
    ]);
    const calls = [
      { target: chain.contracts.poolFactory, callData: '0xdeadbeef' },
      { target: MULTICALL3, callData: '0x42cbb15c' }, // getBlockNumber()
    ] as const;
    const ask = { address: MULTICALL3, abi, functionName: 'tryAggregate' } as const;
    const { result } = await client.simulateContract({ ...ask, args: [false, calls] });
    t.same(
      result.map(({ success }) => success),
      [false, true],
    );
    await t.rejects(client.simulateContract({ ...ask, args: [true, calls] }), /Multicall3: call failed/);
  });

  t.test('has volatilities of each strike, alone or together, and rejects an invalid one by name', async (t) => {
    const [token, other] = [market.token('WETH'), market.token('USDC')];
    const oracle = { address: chain.contracts.volatilityOracle, abi: volatilityOracleAbi } as const;
    const ask = (...args: readonly [Hex, bigint, bigint, bigint]) =>
      client.readContract({ ...oracle, functionName: 'getVolatility', args });
    const atm = await ask(token, ONE, ONE, ONE);
    t.equal(atm, 6n * 10n ** 17n);
    t.ok((await ask(token, ONE, 2n * ONE, ONE)) > atm);
    const strikes = [ONE, 2n * ONE];
    t.same(
      await client.readContract({ ...oracle, functionName: 'getVolatility', args: [token, ONE, strikes, [ONE, ONE]] }),
      await Promise.all(strikes.map((strike) => ask(token, ONE, strike, ONE))),
    );
    await t.rejects(ask(token, 0n, ONE, ONE), /VolatilityOracle__SpotIsZero/);
    await t.rejects(ask(token, ONE, 0n, ONE), /VolatilityOracle__StrikeIsZero/);
    await t.rejects(ask(token, ONE, ONE, 0n), /VolatilityOracle__TimeToMaturityIsZero/);
    await t.rejects(ask(other, ONE, ONE, ONE), /VolatilityOracle__OutOfBounds/);
  });

  t.test('publishes what anyone adds to the stream, in order', async (t) => {
    const pool = market.pool('testWETH', 1800n, true);
    const offers = [await market.sign(pool), await market.sign(pool, { isBuy: true, taker: market.taker.address })];
    const hash = await market.publish(market.stranger.address, offers);
    const { blockNumber } = await client.getTransactionReceipt({ hash });
    const logs = await client.getContractEvents({
      address: chain.contracts.orderbookStream,
      abi: orderbookStreamAbi,
      eventName: 'PublishQuote',
      fromBlock: blockNumber,
    });
    t.match(
      logs.map(({ args }) => args),
      offers.map(({ price, size, isBuy, salt, signature }) => ({ price, size, isBuy, salt: BigInt(salt), signature })),
    );
    t.match(logs[0]?.args.poolKey, { ...pool.poolKey, maturity: BigInt(pool.poolKey.maturity) });
  });

  t.test('mines each transaction at once', async (t) => {
    const before = await client.getBlockNumber();
    await market.mint(market.token('USDC'), market.taker.address, 1n);
    t.equal(await client.getBlockNumber(), before + 1n);
  });
});

t.test('a chain comes back from its state file: blocks, logs, balances, addresses', async (t) => {
  const stateFile = `${t.testdir()}/chain.json`;
  const first = await startLocalChain({ stateFile });
  const [maker] = first.accounts;
  const [pool] = first.pools;
  if (!maker || !pool) throw new Error('a local chain has accounts and pools');
  const deadline = pool.poolKey.maturity;
  const offer = await signOffer(maker, first.chainId, { pool, price: 1n, size: ONE, isBuy: true, deadline });
  const actions = new DevActions(first);
  const hash = await actions.publish(maker.address, [offer]);
  const before = await actions.client.getBlock();
  await first.stop();

  const second = await startLocalChain({ stateFile });
  t.teardown(() => second.stop());
  t.same({ ...second.profile, settlement: 0, stream: 0 }, { ...first.profile, settlement: 0, stream: 0 });
  t.same(second.pools, first.pools);
  const { client } = new DevActions(second);
  const after = await client.getBlock();
  t.equal(after.parentHash, before.hash);
  t.same(after.transactions, [], 'nothing was deployed again');
  const [log] = await client.getContractEvents({
    address: second.contracts.orderbookStream,
    abi: orderbookStreamAbi,
    eventName: 'PublishQuote',
    fromBlock: 0n,
  });
  t.equal(log?.transactionHash, hash);
  // Before tap clears the directory away, which comes before what the test tears down.
  await second.stop();
});

t.test('the time of a chain that comes back is that of its start, not of its last transaction', async (t) => {
  const stateFile = `${t.testdir()}/chain.json`;
  const first = await startLocalChain({ stateFile });
  const last = await new DevActions(first).now();
  await first.stop();
  await until(() => Math.floor(Date.now() / 1000) > last);

  const startedAt = Math.floor(Date.now() / 1000);
  const second = await startLocalChain({ stateFile });
  t.teardown(() => second.stop());
  t.ok((await new DevActions(second).now()) >= startedAt);
  // Before tap clears the directory away, which comes before what the test tears down.
  await second.stop();
});

t.test('a chain that comes back after its pools have matured has new ones', async (t) => {
  const stateFile = `${t.testdir()}/chain.json`;
  const first = await startLocalChain({ stateFile });
  const nearest = Math.min(...first.pools.map(({ poolKey }) => poolKey.maturity));
  await new DevActions(first).moveTimeTo(nearest);
  await first.stop();

  const second = await startLocalChain({ stateFile });
  t.teardown(() => second.stop());
  const actions = new DevActions(second);
  const now = await actions.now();
  const alive = first.pools.filter(({ poolKey }) => poolKey.maturity > nearest);
  t.same(second.pools.slice(0, alive.length), alive);
  t.ok(second.pools.length > alive.length);
  for (const { poolAddress, poolKey } of second.pools) {
    t.ok(poolKey.maturity > now);
    t.same(await actions.poolAddress(poolKey), { poolAddress, isDeployed: true });
  }
  // Before tap clears the directory away, which comes before what the test tears down.
  await second.stop();
});

t.test('a state that was lost is deployed anew, whatever is kept beside it', async (t) => {
  const stateFile = `${t.testdir()}/chain.json`;
  const first = await startLocalChain({ stateFile });
  await first.stop();
  rmSync(stateFile);
  t.ok(existsSync(`${stateFile}.deployment`));
  const second = await startLocalChain({ stateFile });
  t.teardown(() => second.stop());
  const code = await new DevActions(second).client.getCode({ address: second.contracts.poolFactory });
  t.ok(code);
  // Before tap clears the directory away, which comes before what the test tears down.
  await second.stop();
});

t.test('a chain of an earlier version gets the contracts that it lacks, and keeps the others', async (t) => {
  const stateFile = `${t.testdir()}/chain.json`;
  const first = await startLocalChain({ stateFile });
  await first.stop();
  const file = `${stateFile}.deployment`;
  const saved = JSON.parse(readFileSync(file, 'utf8')) as {
    deployment: { contracts: Record<string, string>; vaults: { name: string }[] };
  };
  delete saved.deployment.contracts.volatilityOracle;
  saved.deployment.vaults = saved.deployment.vaults.filter(({ name }) => !name.includes('USDCe'));
  writeFileSync(file, JSON.stringify(saved));
  const second = await startLocalChain({ stateFile });
  t.teardown(() => second.stop());
  t.same(
    second.profile.vaults.map(({ name }) => name),
    first.profile.vaults.map(({ name }) => name),
  );
  t.same(second.pools, first.pools);
  const { client } = new DevActions(second);
  const { volatilityOracle } = second.contracts;
  t.not(volatilityOracle, first.contracts.volatilityOracle);
  for (const { address } of [...second.profile.vaults, { address: volatilityOracle }]) {
    t.ok(await client.getCode({ address }), address);
  }
  // Before tap clears the directory away, which comes before what the test tears down.
  await second.stop();
});

t.test('with a block time transactions wait for their block', async (t) => {
  const chain = await startLocalChain({ blockTimeSeconds: 1 });
  t.teardown(() => chain.stop());
  const { client } = new DevActions(chain);
  const before = await client.getBlockNumber();
  const [from] = chain.accounts;
  if (from === undefined) throw new Error('a local chain has accounts');
  const hash = await client.sendTransaction({ account: from.address, to: from.address, value: 1n });
  const { blockNumber } = await client.waitForTransactionReceipt({ hash });
  t.ok(blockNumber > before);
  // Blocks come without transactions, too.
  while ((await client.getBlockNumber()) < blockNumber + 1n) await setImmediate();
});

t.test('a deployment file that is no JSON stops the start, and anvil with it', async (t) => {
  const stateFile = `${t.testdir()}/chain.json`;
  writeFileSync(`${stateFile}.deployment`, '{');
  await t.rejects(startLocalChain({ stateFile }), SyntaxError);
});

t.test('an anvil that runs already is deployed on, and goes on running', async (t) => {
  const anvil = await startAnvil({ chainId: LOCAL_CHAIN_ID });
  t.teardown(() => anvil.stop());
  const first = await attachLocalChain({ rpcUrl: anvil.rpcUrl });
  await first.stop();
  const second = await attachLocalChain({ rpcUrl: anvil.rpcUrl });
  t.not(second.contracts.poolFactory, first.contracts.poolFactory);
  t.equal(second.anvilPid, null);
  const { client } = new DevActions(second);
  t.ok(await client.getCode({ address: first.contracts.poolFactory }));
  t.ok(await client.getCode({ address: second.contracts.poolFactory }));
});

t.test('stop() ends anvil', async (t) => {
  const chain = await startLocalChain();
  await chain.stop();
  t.equal(await answers(chain.rpcUrl), false);
});

t.test('anvil dies with the process that started it, even when that is killed', async (t) => {
  const owner = spawn(process.execPath, [fileURLToPath(new URL('chain-owner.js', import.meta.url))], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(createInterface(owner.stdout), 'line')) as [string];
  const { rpcUrl, anvilPid } = JSON.parse(line) as { rpcUrl: string; anvilPid: number };
  t.equal(await answers(rpcUrl), true);
  owner.kill('SIGKILL');
  // Only the test's own time limit ends this when anvil lives on.
  while (isAlive(anvilPid)) await setImmediate();
  t.equal(await answers(rpcUrl), false);
});

t.test('an anvil that cannot start says why', async (t) => {
  const anvil = await startAnvil({ chainId: LOCAL_CHAIN_ID });
  t.teardown(() => anvil.stop());
  const port = Number(new URL(anvil.rpcUrl).port);
  await t.rejects(startLocalChain({ port }), /anvil ended with code \d+ before it listened: .*/s);
  await t.rejects(startLocalChain({ anvilPath: '/nowhere/anvil' }), /not found|No such file/i);
});

t.test('maturities are legal from any moment on', async (t) => {
  const day = 86_400;
  for (let now = 1_700_000_000; now < 1_700_000_000 + 800 * day; now += 5 * 3600 + 7) {
    const maturities = devMaturities(now);
    for (const maturity of maturities) {
      const date = new Date(maturity * 1000);
      if (date.getUTCDay() !== 5 || maturity % day !== 8 * 3600) t.fail(`${date.toISOString()} is no Friday at eight`);
    }
    const [near, middle, far] = maturities;
    if (near < now + 2 * day || near >= now + 9 * day) t.fail(`${near} is not the next Friday of ${now}`);
    if (middle > now + 35 * day) t.fail(`${middle} is too far from ${now}`);
    const nextMonth = new Date((far + 7 * day) * 1000).getUTCMonth();
    if (far <= now + 35 * day || new Date(far * 1000).getUTCMonth() === nextMonth)
      t.fail(`${far} is not a last Friday`);
  }
  t.pass('for two years of nows');
});
