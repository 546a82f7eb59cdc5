import { OrderbookClient } from 'quotebook/client';
import t from 'tap';
import { privateKeyToAccount } from 'viem/accounts';
import { WebSocket } from 'ws';
import type { Profile } from '../../src/chain/contracts/deployments.js';
import { startLocalChain } from '../../src/chain/dev/local-chain.js';
import { readProfileFile } from '../../src/config/profile-file.js';
import { startTestService } from './running-service.js';

const CHAIN_ID = 31_337;
const ONE = 10n ** 18n;

/** A chain of no network that the protocol is on, and the file that an operator writes for it. */
const chain = await startLocalChain({ chainId: CHAIN_ID });
t.teardown(() => chain.stop());
const { settlement, contracts, tokens, vaults } = chain.profile;
const role = { chainId: CHAIN_ID, rpcUrls: settlement.rpcUrls };
const file = JSON.stringify({
  name: 'my-testnet',
  settlement: role,
  stream: role,
  contracts,
  streamLookbackSeconds: 3600,
  tokens: tokens.map(({ symbol, ...token }) => ({ symbol: symbol === 'testWETH' ? 'tETH' : symbol, ...token })),
  vaults: vaults.map(({ name, address }) => ({ name: name.replace('testWETH', 'tETH'), address })),
});

async function readProfile(): Promise<Profile> {
  const read = await readProfileFile('my-testnet.json', () => Promise.resolve(file));
  if (!read.ok) throw new Error(read.problems.join());
  return read.profile;
}

const running = await startTestService({ chain, profile: await readProfile() });
t.teardown(() => running.stop());
const { httpUrl, wsUrl, apiKey } = running;
const [, maker] = chain.accounts;
const pool = chain.pools[0];
if (maker === undefined || pool === undefined) throw new Error('The local chain has accounts and pools');

async function get(path: string): Promise<{ readonly status: number; readonly body: unknown }> {
  const response = await fetch(httpUrl + path, { headers: { 'x-apikey': apiKey } });
  return { status: response.status, body: await response.json() };
}

await t.test('the client library quotes, asks and listens on a chain of any id', async (t) => {
  const client = new OrderbookClient({ url: httpUrl, apiKey, chainId: String(CHAIN_ID) });
  t.teardown(() => client.close());
  const quotes = client.followQuotes();
  const rfqs = client.followRfqs();
  const [heard, asked] = [
    new Promise((resolve) => quotes.onEvent(resolve)),
    new Promise((resolve) => rfqs.onRfq(resolve)),
  ];
  await Promise.all([quotes.whenLive(), rfqs.whenLive()]);
  const { poolAddress } = pool;
  const named = { poolAddress, poolKey: { ...pool.poolKey, strike: pool.poolKey.strike.toString() } };
  const terms = { side: 'ask', price: ONE / 10n, size: ONE } as const;
  const { posted, quoteId } = await client.signQuote(privateKeyToAccount(maker.privateKey), named, terms);
  const body = { quoteId, chainId: String(CHAIN_ID) };
  t.match(await client.rest.postQuotes([posted]), { created: [body], failed: [] });
  t.match(await heard, { type: 'POST_QUOTE', body });
  t.match(await client.rest.quotes({ poolAddress, side: 'ask', size: '1' }), [body]);
  await client.requestQuotes({ poolKey: named.poolKey, side: 'ask', size: ONE, taker: maker.address });
  t.match(await asked, { body: { chainId: String(CHAIN_ID) } });
  t.match((await get('/pools?base=tETH&quote=USDC')).body, [{ base: 'tETH', quote: 'USDC' }]);
});

await t.test('any other chain is refused by a pattern that names the one that is served', async (t) => {
  const message = `must match pattern "^${CHAIN_ID}$"`;
  for (const other of ['42161', '421613', '1']) {
    for (const path of ['/tickers?', '/orders?', `/quotes?poolAddress=${pool.poolAddress}&side=ask&size=1&`]) {
      const { status, body } = await get(`${path}chainId=${other}`);
      t.match([status, body], [400, [{ keyword: 'pattern', instancePath: '/chainId', message }]]);
    }
  }
  const socket = new WebSocket(wsUrl);
  t.teardown(() => socket.close());
  const answers: unknown[] = [];
  const answered = new Promise<void>((resolve) => {
    socket.on('message', (data: Buffer) => {
      if (answers.push((JSON.parse(data.toString()) as { message: unknown }).message) === 2) resolve();
    });
  });
  socket.on('open', () => {
    socket.send(JSON.stringify({ type: 'AUTH', apiKey, body: null }));
    socket.send(JSON.stringify({ type: 'FILTER', channel: 'QUOTES', body: { chainId: '421613' } }));
  });
  await answered;
  t.equal(answers[1], `Invalid FILTER: body.chainId ${message}`);
});

await t.test('its documents name its chain and its symbols', async (t) => {
  for (const name of ['/openapi.json', '/asyncapi.json', '/docs']) {
    const text = await (await fetch(httpUrl + name)).text();
    t.match(text, `^${CHAIN_ID}$`, name);
    t.notMatch(text, '^42161$', name);
    if (name !== '/asyncapi.json') t.match(text, '^tETH$', name);
  }
});
