import pino from 'pino';
import t from 'tap';
import { decodeFunctionData } from 'viem';
import { poolAbi, vaultAbi } from '../../src/chain/contracts/abi.js';
import type { Hex } from '../../src/engine/quote.js';
import { Market, ONE } from '../chain/dev/market.js';
import { signQuote } from './maker.js';
import { RestClient } from './rest-client.js';
import { startTestService } from './running-service.js';
import { optionOf } from './wire-option.js';

const REFERRER: Hex = '0x00000000000000000000000000000000000000A1';
const lines: Record<string, unknown>[] = [];
const logger = pino({ level: 'info' }, { write: (line: string) => lines.push(JSON.parse(line) as never) });
const running = await startTestService({ logger, referrer: REFERRER });
t.teardown(() => running.stop());
const { chain } = running;
const market = new Market(chain);
const rest = new RestClient(running.httpUrl, running.apiKey);
const pool = market.pool('testWETH', 1800n, false);

/** Calldata of the last transaction that the operator's wallet sent. */
async function lastCalldata(): Promise<Hex> {
  const used = lines.filter(({ msg }) => msg === 'operator wallet used').at(-1);
  const { input } = await market.client.getTransaction({ hash: used?.txHash as Hex });
  return input;
}

await t.test('a fill names the referrer of the configuration', async (t) => {
  const posted = await rest.post('/quotes', [await signQuote(market.maker.privateKey, pool, { price: ONE / 10n })]);
  const [created] = posted.body.created as readonly { readonly quoteId: string }[];
  const filled = await rest.send('PATCH', '/orderbook/quotes', [{ quoteId: created?.quoteId, tradeSize: 0.5 }]);
  t.match(filled, { status: 200, body: { success: [created?.quoteId] } });
  const { functionName, args } = decodeFunctionData({ abi: poolAbi, data: await lastCalldata() });
  t.strictSame([functionName, args[3]], ['fillQuoteOB', REFERRER]);
});

await t.test('a trade with a vault names the referrer of the configuration', async (t) => {
  const vault = chain.profile.vaults.find(({ name }) => name === 'pSV-testWETH/USDC-P');
  if (vault === undefined) throw new Error('The local chain has the vault');
  await market.approve(market.operator.address, market.token('USDC'), vault.address);
  const order = { ...optionOf(chain, pool), size: 0.5, direction: 'buy', premiumLimit: 1000 };
  t.match(await rest.post('/vaults/trade', order), { status: 200 });
  const { functionName, args } = decodeFunctionData({ abi: vaultAbi, data: await lastCalldata() });
  t.strictSame([functionName, args[4]], ['trade', REFERRER]);
});
