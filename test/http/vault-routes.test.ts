import t from 'tap';
import { rfqMessageRoutes, vaultRoute, type VaultPrices } from '../../src/http/vault-routes.js';
import type { Hex } from '../../src/engine/quote.js';
import type { VaultQuote } from '../../src/wire/answers.js';
import { ask, requestOf } from './ask-route.js';

const limits = { queryPairs: 10, schemaErrors: 20 };
const symbols = ['WETH', 'USDC', 'X.Y'];
const QUERY = '/vaults/quote?base=WETH&quote=USDC&expiration=29NOV30&type=P&direction=buy';

function answering(answer: VaultQuote): VaultPrices & { asked: unknown[] } {
  const asked: unknown[] = [];
  return {
    asked,
    quote(trade) {
      asked.push(trade);
      return Promise.resolve(answer);
    },
  };
}

t.test('numbers are written as the contracts have them, however many digits that takes', async (t) => {
  const vaults = answering({
    type: 'QUOTED',
    vault: 'pSV-WETH/USDC-P',
    quote: { units: 123_456_789_012_345_678_901n, decimals: 6 },
    fee: { units: 1n, decimals: 18 },
  });
  const { status, text } = await ask(
    [vaultRoute(() => vaults, symbols, limits)],
    requestOf('GET', `${QUERY}&strike=0.42&size=10.50`),
  );
  t.equal(status, 200);
  t.equal(
    text,
    '{"market":{"vault":"pSV-WETH/USDC-P","strike":0.42,"expiration":"29NOV30","size":10.5,"direction":"buy"},' +
      '"quote":123456789012345.678901,"takerFee":0.000000000000000001,"fee":0.000000000000000001}',
  );
  t.strictSame(vaults.asked, [
    {
      base: 'WETH',
      quote: 'USDC',
      expiration: '29NOV30',
      strike: 420_000_000_000_000_000n,
      type: 'P',
      size: 10_500_000_000_000_000_000n,
      isBuy: true,
    },
  ]);
});

t.test('each way to have no quote has its status and words', async (t) => {
  const cases: [VaultQuote, number, string][] = [
    [{ type: 'REFUSED', code: 'contract_refused', message: 'Vault__SellDisabled' }, 400, 'Vault__SellDisabled'],
    [{ type: 'FAILED' }, 500, 'Failed to get quote from vault'],
    [{ type: 'CHAIN_UNREACHABLE' }, 503, 'The chain does not answer'],
  ];
  for (const [answer, status, message] of cases) {
    const got = await ask(
      [vaultRoute(() => answering(answer), symbols, limits)],
      requestOf('GET', `${QUERY}&strike=1&size=1`),
    );
    // What the client got wrong has its query beside it.
    const query = Object.fromEntries(new URLSearchParams(`${QUERY.split('?')[1] ?? ''}&strike=1&size=1`));
    const body = status === 400 ? { message, quote: query } : { message };
    t.strictSame([got.status, JSON.parse(got.text)], [status, body]);
  }
});

t.test('without a wallet the missing setting is named', async (t) => {
  const { status, text } = await ask(
    [vaultRoute(() => null, symbols, limits)],
    requestOf('GET', `${QUERY}&strike=1&size=1`),
  );
  t.equal(status, 501);
  t.match(text, 'walletKey');
});

t.test('an unknown symbol is refused in the words of a pattern, before anything else', async (t) => {
  const vaults = answering({ type: 'FAILED' });
  for (const field of ['base', 'quote']) {
    for (const symbol of ['DOGE', 'weth', 'XzY', 'WETHUSDC']) {
      const query = `${QUERY}&strike=1&size=1`.replace(new RegExp(`${field}=\\w+`), `${field}=${symbol}`);
      for (const prices of [vaults, null]) {
        const { status, text } = await ask([vaultRoute(() => prices, symbols, limits)], requestOf('GET', query));
        const message = 'must match pattern "^WETH$|^USDC$|^X\\.Y$"';
        t.match([status, JSON.parse(text)], [400, [{ keyword: 'pattern', instancePath: `/${field}`, message }]]);
      }
    }
  }
  t.strictSame(vaults.asked, []);
});

t.test('a query that is not well encoded is refused', async (t) => {
  const { status, text } = await ask(
    [vaultRoute(() => null, symbols, limits)],
    requestOf('GET', `${QUERY}&strike=%zz&size=1`),
  );
  t.strictSame([status, text], [400, '{"message":"The query has a malformed percent-encoding"}']);
});

for (const path of ['/rfq/message', '/rfq/request']) {
  const target = `${QUERY.replace('/vaults/quote', path)}&strike=1&size=1`;
  const served = (operator: Hex | null, now: number | null) =>
    rfqMessageRoutes({
      symbols,
      chainId: '42161',
      operator: () => operator,
      nowSeconds: () => now,
      poolKey: () => {
        throw new Error('no message is written');
      },
      limits,
    });

  t.test(`${path} without a wallet is 501, which names the setting`, async (t) => {
    const { status, text } = await ask(served(null, 0), requestOf('GET', target));
    t.equal(status, 501);
    t.match(text, 'walletKey');
  });

  t.test(`${path} before the chain has been read is 503`, async (t) => {
    const { status, text } = await ask(served('0x01', null), requestOf('GET', target));
    t.strictSame([status, text], [503, '{"message":"The chain does not answer"}']);
  });
}
