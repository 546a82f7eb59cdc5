import t from 'tap';
import type { Page } from 'playwright-core';
import { maxUint256 } from 'viem';
import { poolAbi } from '../../src/chain/contracts/abi.js';
import { OrderbookClient } from '../../src/client/node.js';
import type { Hex, Pool } from '../../src/engine/quote.js';
import { DevActions } from '../chain/dev-actions.js';
import { documentedPorts } from '../e2e/documented-network.js';
import { connect, DESKTOP, fillIn, inPage, refuseSecondTransaction, until, withPage } from './in-page.js';

const ONE = 10n ** 18n;
const MAKER = 6;
/** The one that `MarketMaker` asks as. */
const TAKER = 4;

await withPage(async ({ browser, service, maker, call, put }) => {
  const options = { viewport: DESKTOP };
  const chain = new DevActions(service.chain);
  const chainId = String(service.chain.chainId);
  const client = new OrderbookClient({ url: service.httpUrl, apiKey: service.apiKey, chainId }, documentedPorts);
  t.teardown(() => client.close());
  const provider = service.chain.accounts[MAKER]?.address ?? '0x';
  const taker = service.chain.accounts[TAKER]?.address ?? '0x';
  const rows = '#quotes-rows tr';

  /** 1e-18 contracts. */
  const filled = (poolAddress: Hex, quoteId: Hex): Promise<bigint> =>
    chain.client.readContract({
      address: poolAddress,
      abi: poolAbi,
      functionName: 'getQuoteOBFilledAmount',
      args: [provider, quoteId],
    });
  const isCancelled = async (poolAddress: Hex, quoteId: Hex): Promise<boolean> =>
    (await filled(poolAddress, quoteId)) === maxUint256;

  /** An ask of the wallet for everybody, by the form. */
  async function quote(page: Page, price: string): Promise<Hex> {
    const before = await publicIds();
    await fillIn(page, { 'quote-ask': price, 'quote-ask-size': '2' });
    await page.click('#quote-do');
    await until(page, '#quote-note', 'Placed an ask for 2.00');
    const [added] = (await publicIds()).filter((quoteId) => !before.includes(quoteId));
    if (added === undefined) throw new Error('a quote that was placed is in the book');
    return added;
  }

  async function publicIds(): Promise<Hex[]> {
    const { validQuotes } = await client.rest.orders({ provider });
    return validQuotes.map(({ quoteId }) => quoteId);
  }

  /** Answers a request for so many contracts from the inbox. */
  async function answer(page: Page, pool: Pool, size: bigint): Promise<Hex> {
    await maker.requestQuotes(pool, size * ONE);
    const row = page.locator(`#requests-rows tr:has-text("wants to buy ${size}.00")`);
    await row.locator('input').fill('0.2');
    await row.getByRole('button', { name: 'Answer' }).click();
    const { poolAddress } = pool;
    for (;;) {
      const quotes = await client.rest.rfqQuotes({ poolAddress, side: 'ask', taker });
      const found = quotes.find((each) => each.size === String(size * ONE));
      if (found !== undefined) return found.quoteId;
      await page.waitForTimeout(50);
    }
  }

  async function withdraw(page: Page, row: string): Promise<void> {
    await page.locator(rows, { hasText: row }).getByRole('button', { name: 'Withdraw' }).click();
    await until(page, '#account-note', 'Withdrawn: hidden here');
    await page.locator(rows, { hasText: 'withdrawn' }).waitFor();
  }

  await t.test('"Cancel all quotes" cancels live, withdrawn and private quotes, in every pool', async (t) => {
    await inPage(t, browser, { service, options, pool: call }, async (page) => {
      await connect(page, MAKER);
      const [live, hidden] = [await quote(page, '0.21'), await quote(page, '0.22')];
      await page.locator(rows, { hasText: '0.2200' }).waitFor();
      await withdraw(page, '0.2200');
      const ofCall = [live, hidden, await answer(page, call, 3n)];
      const ofPut = await answer(page, put, 4n);
      await until(page, '#quotes-rows', 'live; private, for 0x');
      t.equal(await page.locator(rows).count(), 4);
      t.strictSame(await Promise.all(ofCall.map((quoteId) => isCancelled(call.poolAddress, quoteId))), [
        false,
        false,
        false,
      ]);

      await page.click('#cancel-all');
      await until(page, '#account-note', 'Cancelled 4 quotes in 2 transactions: 0x');
      t.strictSame(await Promise.all(ofCall.map((quoteId) => isCancelled(call.poolAddress, quoteId))), [
        true,
        true,
        true,
      ]);
      t.ok(await isCancelled(put.poolAddress, ofPut));
      await until(page, '#quotes-rows', 'This wallet has no quotes');
      await page.waitForSelector('#cancel-all', { state: 'hidden' });
    });
  });

  await t.test('"Cancel all quotes" cancels a withdrawn quote that is the only one', async (t) => {
    await inPage(t, browser, { service, options, pool: call }, async (page) => {
      await connect(page, MAKER);
      const hidden = await quote(page, '0.23');
      await page.locator(rows, { hasText: '0.2300' }).waitFor();
      await withdraw(page, '0.2300');
      t.equal(await page.locator(rows).count(), 1);
      await page.click('#cancel-all');
      await until(page, '#account-note', 'Cancelled 1 quote in transaction 0x');
      t.ok(await isCancelled(call.poolAddress, hidden));
    });
  });

  await t.test(
    'a private quote outlives a reload in Account, is cancelled alone, and leaves others alone',
    async (t) => {
      await inPage(t, browser, { service, options, pool: call }, async (page) => {
        await connect(page, MAKER);
        const [open, secret] = [await quote(page, '0.24'), await answer(page, call, 5n)];
        await page.reload();
        await page.waitForSelector('#pool[aria-busy=false]');
        await connect(page, MAKER);
        const row = page.locator(rows, { hasText: `private, for ${taker.slice(0, 6)}…${taker.slice(-4)}` });
        t.match(await row.textContent(), /1600 Cask0\.20*[\d $.]*5\.00live; private/i);
        await row.getByRole('button', { name: 'Cancel' }).click();
        await until(page, '#account-note', 'Cancelled in transaction 0x');
        t.strictSame(
          [await isCancelled(call.poolAddress, secret), await isCancelled(call.poolAddress, open)],
          [true, false],
        );
        await row.waitFor({ state: 'detached' });
        await page.click('#cancel-all');
        await until(page, '#account-note', 'Cancelled 1 quote in');
      });
    },
  );

  await t.test('when the quotes cannot be read, the page says so and cancels nothing', async (t) => {
    await inPage(t, browser, { service, options, pool: call }, async (page) => {
      await connect(page, MAKER);
      const open = await quote(page, '0.25');
      await page.waitForSelector('#cancel-all');
      const refusal = { status: 503, json: { message: 'The chains have not been reached yet' } };
      await page.route(/\/quotes\/withdrawn/, (route) => route.fulfill(refusal));
      await page.click('#cancel-all');
      await until(page, '#account-note', 'No quote was cancelled: they cannot be read (');
      t.notOk(await isCancelled(call.poolAddress, open));
      await page.unrouteAll();
      await page.click('#cancel-all');
      await until(page, '#account-note', 'Cancelled 1 quote in');
      t.ok(await isCancelled(call.poolAddress, open));
    });
  });

  await t.test('when a wallet refuses a transaction, the page says how many quotes were cancelled', async (t) => {
    await inPage(t, browser, { service, options, pool: call }, async (page) => {
      await connect(page, MAKER);
      const ofCall = await quote(page, '0.26');
      const ofPut = await answer(page, put, 6n);
      await until(page, '#quotes-rows', 'private');
      await refuseSecondTransaction(page, service.chain.rpcUrl);
      await page.click('#cancel-all');
      await until(page, '#account-note', 'Cancelled 1 of 2 quotes. The user refuses');
      const cancelled = [await isCancelled(call.poolAddress, ofCall), await isCancelled(put.poolAddress, ofPut)];
      t.strictSame(cancelled.sort(), [false, true]);
      await page.unrouteAll();
      await page.locator('#quotes-rows tr').nth(1).waitFor({ state: 'detached' });
      await page.click('#cancel-all');
      await until(page, '#account-note', 'Cancelled 1 quote in');
    });
  });
});
