import t from 'tap';
import type { Page } from 'playwright-core';
import { DevActions } from '../chain/dev-actions.js';
import { DESKTOP, inPage, picture, until, withPage } from './in-page.js';

const ONE = 10n ** 18n;

async function connect(page: Page, account: number): Promise<void> {
  await page.click('#wallet');
  await page.click(`#wallets-list li:nth-child(${account + 1}) button`);
  await page.waitForSelector('#wallets', { state: 'hidden' });
}

async function fillIn(page: Page, values: Readonly<Record<string, string>>): Promise<void> {
  for (const [id, value] of Object.entries(values)) await page.fill(`#${id}`, value);
}

await withPage(async ({ browser, service, maker, call, put }) => {
  const options = { viewport: DESKTOP, colorScheme: 'light' } as const;

  await t.test('a maker places a two-sided quote, and a taker takes a part of it', async (t) => {
    const { accounts, contracts } = service.chain;
    const taker = accounts[4]?.address ?? '0x';
    await new DevActions(service.chain).approve(taker, call.poolKey.base, contracts.erc20Router, 0n);
    await inPage(t, browser, { service, options, pool: call }, async (page) => {
      await connect(page, 1);
      await fillIn(page, { 'quote-bid': '0.02', 'quote-bid-size': '2', 'quote-ask': '0.03', 'quote-ask-size': '3' });
      await page.click('#quote-do');
      await until(page, '#quote-note', 'Placed a bid for 2.00 and an ask for 3.00');
      await until(page, '#ladder-rows .spread', 'spread 0.0100');
      await until(page, '#quotes-rows', 'live');
      t.equal(await page.locator('#quotes-rows tr').count(), 2);

      await connect(page, 4);
      await until(page, '#ticket-average', '0.03000');
      await fillIn(page, { 'ticket-size': '1.5', 'ticket-limit': '0.029' });
      await until(page, '#ticket-note', 'No quote is within the limit');
      await fillIn(page, { 'ticket-limit': '0.03' });
      await until(page, '#ticket-covered', '1.50 of 1.50');
      await until(page, '#ticket-do', 'Approve');
      await page.click('#ticket-do');
      await until(page, '#ticket-do', 'Buy 1.50');
      await page.click('#ticket-do');
      await until(page, '#ticket-note', 'Bought 1.50');
      await until(page, '#positions-rows', 'long');
      t.match(await page.textContent('#positions-rows'), /1\.5/);
      await until(page, '#tape-rows', 'Fill');
      await picture(page, 'page-trading.png');
    });
  });

  await t.test('a taker asks, a maker answers for that taker alone, and the taker accepts', async (t) => {
    await inPage(t, browser, { service, options, pool: put }, async (page) => {
      await connect(page, 4);
      await fillIn(page, { 'ticket-size': '2' });
      await until(page, '#ticket-note', 'Nobody quotes this side');
      await page.click('#ticket-ask');
      await until(page, '#ticket-note', 'Makers are asked');
      await until(page, '#requests-rows', 'wants to buy');

      await connect(page, 1);
      await page.click('#requests-rows button');
      t.equal(await page.inputValue('#quote-ask-size'), '2');
      await until(page, '#quote-taker', 'Only 0x');
      await fillIn(page, { 'quote-ask': '40' });
      await page.click('#quote-do');
      await until(page, '#quote-note', 'Placed an ask');

      await connect(page, 4);
      await until(page, '#ticket-covered', '2.00 of 2.00');
      await until(page, '#ticket-do', 'Buy 2.00');
      await page.click('#ticket-do');
      await until(page, '#ticket-note', 'Bought 2.00');
    });
  });

  await t.test('cancelling all quotes empties the list and the book', async (t) => {
    await inPage(t, browser, { service, options, pool: call }, async (page) => {
      await connect(page, 1);
      await until(page, '#quotes-rows', 'live');
      await page.click('#cancel-all');
      await until(page, '#quotes-rows', 'has no public quotes');
      await until(page, '#ladder-rows .spread', 'no spread');
    });
  });

  await t.test('a quote that the chain would refuse is not placed, and says why', async (t) => {
    await inPage(t, browser, { service, options, pool: call }, async (page) => {
      await connect(page, 7);
      await fillIn(page, { 'quote-ask': '0.05', 'quote-ask-size': '123456789' });
      await page.click('#quote-do');
      await until(page, '#quote-note', 'Not placed: InsufficientCollateral');
      await fillIn(page, { 'quote-ask': '', 'quote-ask-size': '1' });
      await page.click('#quote-do');
      await until(page, '#quote-note', 'The ask needs a price');
    });
  });

  await t.test('an expired position is exercised', async (t) => {
    const chain = new DevActions(service.chain);
    await chain.setSettlementPrice(call.poolKey, 3000n * ONE);
    await chain.moveTimeTo(call.poolKey.maturity);
    await maker.requestQuotes(put, ONE).catch(() => undefined);
    await inPage(t, browser, { service, options }, async (page) => {
      await page.waitForSelector('#connection[data-state=OPEN]');
      await connect(page, 4);
      await until(page, '#positions-rows', 'Exercise');
      await page.click('#positions-rows button');
      await until(page, '#account-note', 'Exercised in transaction');
    });
  });
});
