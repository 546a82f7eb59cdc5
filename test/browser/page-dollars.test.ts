import t, { type Test } from 'tap';
import type { Page } from 'playwright-core';
import type { Hex } from '../../src/engine/quote.js';
import { connect, DESKTOP, inPage, until, withPage } from './in-page.js';

const ONE = 10n ** 18n;
const TAKER = 4;
/** The maker of `MarketMaker`. */
const MAKER = 1;

/** Of the local chain's oracles: a testWETH is worth 1,800 dollars, a USDC one. */
await withPage(async ({ browser, service, maker, put }) => {
  const call = service.chain.pools.find(({ poolKey }) => poolKey.isCallPool && poolKey.strike === 1800n * ONE);
  if (call === undefined) throw new Error('a chain has a call at the price of its token');
  const taker = service.chain.accounts[TAKER]?.address ?? '0x';
  await maker.bid(call, ONE / 50n, 2n * ONE);
  await maker.ask(call, ONE / 40n, 3n * ONE);
  await maker.ask(put, ONE / 50n, 3n * ONE);
  await maker.fill(call, ONE);

  const open = (t: Test, use: (page: Page) => Promise<void>): Promise<void> =>
    inPage(t, browser, { service, options: { viewport: DESKTOP }, pool: call }, use);

  await t.test('the tape has the price of a call and of a put in dollars, and none of a request', async (t) => {
    await open(t, async (page) => {
      const row = (text: string): Promise<string | null> =>
        page.locator('#tape-rows tr', { hasText: text }).textContent();
      await until(page, '#tape-rows', '$');
      t.match(await row('0.02000'), /1800 Cbid0\.02000 \$36\.002\.00$/);
      t.match(await row('32.00'), /1600 Pask32\.00 \$32\.003\.00$/);
      await maker.requestQuotes(call, 7n * ONE);
      await until(page, '#tape-rows', 'RFQ');
      t.match(await row('RFQ'), /1800 Cask– 7\.00$/);
    });
  });

  await t.test("the wallet's quotes have their prices in dollars", async (t) => {
    await open(t, async (page) => {
      await until(page, '#tape-rows', '$');
      await connect(page, MAKER);
      await until(page, '#quotes-rows', '0.02000 $36.00');
      await until(page, '#quotes-rows', '32.00 $32.00');
    });
  });

  await t.test('a position has its value and its profit in dollars, those of the seller below 0', async (t) => {
    await open(t, async (page) => {
      await until(page, '#tape-rows', '$');
      const mark = await markOf(page, service.apiKey, call.poolAddress);
      const cells = async (account: number): Promise<string[]> => {
        await connect(page, account);
        await until(page, '#positions-rows', account === MAKER ? 'short' : 'long');
        await until(page, '#positions-rows', '$');
        return page.locator('#positions-rows tr td').allTextContents();
      };
      const dollarsOf = (text = ''): number => {
        const [, sign, digits = ''] = /([+−]?)\$([\d.\u202f]+)$/.exec(text) ?? [];
        return Number(digits.replaceAll('\u202f', '')) * (sign === '−' ? -1 : 1);
      };
      const [, , bought, average, , value, profit] = await cells(TAKER);
      t.strictSame([bought, average], ['1.00', '0.02500']);
      t.match(value, /^0\.\d+ \$/);
      t.ok(Math.abs(dollarsOf(value) - mark * 1800) < 1, `${value}`);
      t.ok(Math.abs(dollarsOf(profit) - (mark - 0.025) * 1800) < 1, `${profit}`);
      const [, , , , , sold, lost] = await cells(MAKER);
      t.match(sold, /^−0\.\d+ −\$/);
      t.ok(Math.abs(dollarsOf(sold) + mark * 1800) < 1, `${sold}`);
      t.ok(Math.abs(dollarsOf(lost) - (0.025 - mark) * 1800) < 1, `${lost}`);
    });
  });

  await t.test('offers for a request have their prices in dollars, and so has the preview of all', async (t) => {
    await open(t, async (page) => {
      await until(page, '#tape-rows', '$');
      await connect(page, TAKER);
      await page.click('#rfq-ask');
      await until(page, '#offers-rows', '0.02500 $45.00');
      await maker.askFor(taker, call, ONE / 25n, ONE);
      await until(page, '#offers-rows', '0.04000 $72.00');
      await until(page, '#rfq-cover', 'you pay 0.025000 testWETH ($45.00), before fees.');
      await until(page, '#rfqs-rows', '0.04000 $72.00');
    });
  });

  await t.test('prices have their value in dollars where no option has a mark', async (t) => {
    await open(t, async (page) => {
      await reloadWithout(page, { mark: null, usdValue: null });
      await until(page, '#chain-note', 'testWETH at');
      await until(page, '#ladder-rows', '0.02500');
      await until(page, '#ladder-rows', '$45.00');
      await until(page, '#tape-rows', '32.00 $32.00');
    });
  });

  await t.test('without a price of the token nothing stands in the place of dollars', async (t) => {
    await open(t, async (page) => {
      await reloadWithout(page, { spot: null, mark: null, usdValue: null });
      await connect(page, TAKER);
      await page.click('#rfq-ask');
      await until(page, '#offers-rows', '0.02500');
      await until(page, '#rfq-cover', 'you pay 0.025000 testWETH, before fees.');
      await until(page, '#positions-rows', 'testWETH');
      await until(page, '#ticket-pays', 'testWETH');
      await connect(page, MAKER);
      await until(page, '#quotes-rows', '0.02000');
      const notes = await page.locator('main .usd').allTextContents();
      t.ok(notes.length > 0);
      t.strictSame([...new Set(notes)], ['']);
      t.notMatch(await page.innerText('main'), /\$\d/);
    });
  });
});

/** Reads the page anew, with these in place of what the server estimates of each pool. */
async function reloadWithout(page: Page, unknown: Readonly<Record<string, null>>): Promise<void> {
  let answered = (): void => undefined;
  const estimated = new Promise<void>((resolve) => (answered = resolve));
  await page.route(/\/tickers\?.*valuation/, async (route) => {
    const response = await route.fetch();
    const { tickers, ...rest } = (await response.json()) as { tickers: { valuation: object }[] };
    const changed = tickers.map((each) => ({ ...each, valuation: { ...each.valuation, ...unknown } }));
    await route.fulfill({ response, json: { ...rest, tickers: changed } });
    answered();
  });
  await page.reload();
  await page.waitForSelector('#pool[aria-busy=false]');
  await estimated;
}

/** Tokens per contract. */
async function markOf(page: Page, apiKey: string, pool: Hex): Promise<number> {
  return page.evaluate(
    async ([key, poolAddress]) => {
      const answer = await fetch('/tickers?chainId=421613&fields=valuation', { headers: { 'x-apikey': key } });
      const { tickers } = (await answer.json()) as { tickers: { poolAddress: string; valuation: { mark: string } }[] };
      return Number(tickers.find((each) => each.poolAddress === poolAddress)?.valuation.mark) / 1e18;
    },
    [apiKey, pool] as const,
  );
}
