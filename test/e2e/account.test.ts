import t, { type Test } from 'tap';
import { encodeFunctionData, formatUnits } from 'viem';
import { erc20Abi, LONG, optionTokenAbi, SHORT } from '../../src/chain/contracts/abi.js';
import type { Hex, Pool } from '../../src/engine/quote.js';
import { Market, ONE } from '../chain/dev/market.js';
import { type RestAnswer, RestClient } from './rest-client.js';
import { startTestService } from './running-service.js';
import { optionOf, queryOf } from './wire-option.js';
import { SocketClient } from './socket-client.js';
import { untilAnswer } from '../until.js';

const running = await startTestService({ limits: { balanceCacheMs: 0 } });
t.teardown(() => running.stop());
const { chain } = running;
const market = new Market(chain);
const { operator, maker, taker, stranger } = market;
const rest = new RestClient(running.httpUrl, running.apiKey);
const chainId = String(chain.chainId);

interface Position {
  readonly token_address: string;
  readonly amount: number;
  readonly name: string;
  readonly exposure: string;
}

interface Positions {
  readonly open: readonly Position[];
  readonly expired: readonly Position[];
}

async function positions(query: string): Promise<Positions> {
  const { status, body } = await rest.get(query);
  if (status !== 200) throw new Error(`${status}: ${JSON.stringify(body)}`);
  return body as unknown as Positions;
}

function nameOf(pool: Pool): string {
  const { base, quote, expiration, strike, type } = optionOf(chain, pool);
  return `${base}-${quote}-${expiration.slice(0, 5)}20${expiration.slice(5)}-${strike}-${type}`;
}

/** The contract's own answer. */
function contracts(pool: Pool, account: Hex, id: bigint): Promise<bigint> {
  const { poolAddress: address } = pool;
  return market.client.readContract({ address, abi: optionTokenAbi, functionName: 'balanceOf', args: [account, id] });
}

async function refusedBySchema(t: Test, asked: Promise<RestAnswer>, error: Record<string, unknown>): Promise<void> {
  t.match(await asked, { status: 400, body: [error] });
}

const put = market.pool('testWETH', 2000n, false);
const call = market.pool('WBTC', 30_000n, true);
await market.fill(taker.address, await market.sign(put, { size: (3n * ONE) / 2n }), (3n * ONE) / 2n);
await market.fill(operator.address, await market.sign(call, { size: ONE }), ONE / 3n);

await t.test('collateral is what every token of the chain says of the wallet, in the order of the table', async (t) => {
  for (const [query, wallet] of [
    ['', operator.address],
    [`?walletAddr=${taker.address}`, taker.address],
    [`?walletAddr=${stranger.address.toLowerCase()}`, stranger.address],
  ] as const) {
    const text = await (
      await fetch(`${running.httpUrl}/account/collateral_balances${query}`, { headers: { 'x-apikey': running.apiKey } })
    ).text();
    const { success, failed } = JSON.parse(text) as { success: Record<string, unknown>[]; failed: unknown[] };
    t.strictSame(failed, []);
    t.strictSame(
      success.map(({ symbol }) => symbol),
      chain.profile.tokens.map(({ symbol }) => symbol),
    );
    for (const [i, { address, decimals }] of chain.profile.tokens.entries()) {
      const units = await market.client.readContract({
        address,
        abi: erc20Abi,
        functionName: 'balanceOf',
        args: [wallet],
      });
      t.match(success[i], { token_address: address, balance: Number(formatUnits(units, decimals)) });
    }
  }
});

await t.test('the native balance is a bare number', async (t) => {
  const answer = await rest.get(`/account/native_balance?walletAddr=${stranger.address}`);
  const wei = await market.client.getBalance({ address: stranger.address });
  t.strictSame([answer.status, answer.body as unknown], [200, Number(formatUnits(wei, 18))]);
  t.equal((await rest.get('/account/native_balance')).status, 200);
});

await t.test('option balances are what the pools say, under both names and in both forms', async (t) => {
  const expected: Positions = {
    open: [{ token_address: put.poolAddress, amount: 1.5, name: nameOf(put), exposure: 'LONG' }],
    expired: [],
  };
  t.equal(await contracts(put, taker.address, LONG), (3n * ONE) / 2n);
  for (const path of [
    `/account/option_balances?walletAddr=${taker.address}`,
    `/account/option_balances?chainId=${chainId}&wallet=${taker.address}`,
    `/account/option_balance?chainId=${chainId}&wallet=${taker.address.toLowerCase()}`,
  ]) {
    t.strictSame(await positions(path), expected, path);
  }
  const { open } = await positions('/account/option_balances');
  t.strictSame(open, [
    {
      token_address: call.poolAddress,
      amount: Number(formatUnits(ONE / 3n, 18)),
      name: nameOf(call),
      exposure: 'LONG',
    },
  ]);
  const shorts = await positions(`/account/option_balances?walletAddr=${maker.address}`);
  t.strictSame(
    shorts.open.map(({ exposure }) => exposure),
    ['SHORT', 'SHORT'],
  );
  t.equal(await contracts(put, maker.address, SHORT), (3n * ONE) / 2n);
  t.strictSame(await positions(`/account/option_balances?walletAddr=${stranger.address}`), { open: [], expired: [] });
});

await t.test('both sides of one pool are two positions', async (t) => {
  await market.send(
    taker.address,
    put.poolAddress,
    encodeFunctionData({
      abi: optionTokenAbi,
      functionName: 'safeTransferFrom',
      args: [taker.address, maker.address, LONG, ONE / 2n, '0x'],
    }),
  );
  const { open } = await positions(`/account/option_balances?walletAddr=${maker.address}`);
  t.strictSame(
    open
      .filter(({ token_address }) => token_address === put.poolAddress)
      .map(({ exposure, amount }) => [exposure, amount]),
    [
      ['SHORT', 1.5],
      ['LONG', 0.5],
    ],
  );
});

await t.test('a query that is wrong changes nothing and says why', async (t) => {
  const pattern = 'must match pattern "^0x[a-fA-F0-9]{40}$"';
  for (const path of ['collateral_balances', 'native_balance', 'option_balances']) {
    await refusedBySchema(t, rest.get(`/account/${path}?walletAddr=0x12`), {
      instancePath: '/walletAddr',
      message: pattern,
    });
    await refusedBySchema(t, rest.get(`/account/${path}?other=1`), {});
    t.equal((await fetch(`${running.httpUrl}/account/${path}`)).status, 401, path);
  }
  const required = (name: string) => ({ message: `must have required property '${name}'` });
  await refusedBySchema(t, rest.get('/account/option_balance'), required('chainId'));
  await refusedBySchema(t, rest.get(`/account/option_balances?chainId=${chainId}`), required('wallet'));
  await refusedBySchema(t, rest.get(`/account/option_balance?walletAddr=${taker.address}`), required('chainId'));
  await refusedBySchema(t, rest.get(`/account/option_balance?chainId=1&wallet=${taker.address}`), {
    instancePath: '/chainId',
  });
});

const direction = { size: '2.5', direction: 'buy' };

await t.test('an RFQ message is ready to be sent, under both names', async (t) => {
  const expected = {
    type: 'RFQ',
    body: {
      poolKey: { ...call.poolKey, strike: String(call.poolKey.strike) },
      side: 'ask',
      chainId,
      size: '2500000000000000000',
      taker: operator.address.toLowerCase(),
    },
  };
  for (const path of ['/rfq/message', '/rfq/request']) {
    const { status, body } = await rest.get(`${path}?${queryOf(optionOf(chain, call), direction)}`);
    t.strictSame([status, body as unknown], [200, expected], path);
  }
  const sold = await rest.get(`/rfq/message?${queryOf(optionOf(chain, call), { ...direction, direction: 'sell' })}`);
  t.match(sold.body, { body: { side: 'bid' } });
  const socket = await SocketClient.open(running.wsUrl);
  t.teardown(() => socket.end());
  await socket.auth(running.apiKey);
  const reply = await socket.ask(expected);
  t.match(reply, { type: 'INFO', message: /^Published RFQ to rfq:/ });
});

await t.test('an RFQ message for no option is refused', async (t) => {
  const ask = (more: Record<string, unknown>, trade: Record<string, string> = direction): Promise<RestAnswer> =>
    rest.get(`/rfq/message?${queryOf({ ...optionOf(chain, call), ...more }, trade)}`);
  for (const [expiration, message] of [
    ['31FEB27', 'Invalid expiration date: 31FEB27'],
    ['06JAN23', 'Invalid expiration date: 06JAN23 is in the past'],
  ] as const) {
    t.match(await ask({ expiration }), { status: 400, body: { message, quote: { expiration, ...direction } } });
  }
  await refusedBySchema(t, ask({ base: 'DOGE' }), { keyword: 'pattern', instancePath: '/base' });
  await refusedBySchema(t, ask({}, { ...direction, size: '-1' }), { instancePath: '/size' });
  await refusedBySchema(t, ask({}, { ...direction, size: '1e-7' }), { instancePath: '/size' });
  await refusedBySchema(t, ask({}, { ...direction, size: '0.0000000000000000001' }), {});
});

await t.test('an option that has expired is still held, and listed as expired', async (t) => {
  await market.moveTimeTo(put.poolKey.maturity + 1);
  const { open, expired } = await untilAnswer(
    () => positions(`/account/option_balances?walletAddr=${taker.address}`),
    (held) => held.expired.length > 0,
  );
  t.strictSame(
    [open, expired],
    [[], [{ token_address: put.poolAddress, amount: 1, name: nameOf(put), exposure: 'LONG' }]],
  );
});

await t.test('a chain that does not answer is 503', async (t) => {
  await chain.stop();
  for (const path of ['collateral_balances', 'native_balance', 'option_balances']) {
    t.match(await rest.get(`/account/${path}`), { status: 503, body: { message: 'The chain does not answer' } });
  }
});
