import t from 'tap';
import { DevActions } from '../chain/dev-actions.js';
import { connect, DESKTOP, fillIn, inPage, picture, until, withPage } from './in-page.js';

const ONE = 10n ** 18n;

await withPage(async ({ browser, service, maker, put }) => {
  const options = { viewport: DESKTOP, colorScheme: 'light' } as const;
  const other = service.chain.pools.find(({ poolKey }) => poolKey.isCallPool && poolKey.strike === 1700n * ONE);
  const traded = service.chain.pools.find(({ poolKey }) => poolKey.isCallPool && poolKey.strike === 2000n * ONE);
  if (traded === undefined || other === undefined) throw new Error('a chain has calls of several strikes');

  await t.test('a quote that the chain would refuse is not placed, and says why', async (t) => {
    await inPage(t, browser, { service, options, pool: put }, async (page) => {
      await connect(page, 7);
      await fillIn(page, { 'quote-ask': '0.05', 'quote-ask-size': '123456789' });
      await page.click('#quote-do');
      await until(page, '#quote-note', 'Not placed: Insufficient collateral');
      await fillIn(page, { 'quote-ask': '', 'quote-ask-size': '1' });
      await page.click('#quote-do');
      await until(page, '#quote-note', 'The ask needs a price');
    });
  });

  await t.test('what is said of a quote goes when the form or the wallet changes', async (t) => {
    await inPage(t, browser, { service, options, pool: put }, async (page) => {
      await connect(page, 7);
      for (const change of [() => fillIn(page, { 'quote-ask-size': '2' }), () => connect(page, 8)]) {
        await fillIn(page, { 'quote-ask': '', 'quote-ask-size': '1' });
        await page.click('#quote-do');
        await until(page, '#quote-note', 'The ask needs a price');
        await change();
        t.equal(await page.textContent('#quote-note'), '');
      }
    });
  });

  await t.test('a size of 0 says what is missing, as a text that is no number does', async (t) => {
    await inPage(t, browser, { service, options, pool: put }, async (page) => {
      for (const size of ['0', '0.0', 'x', '']) {
        await fillIn(page, { 'ticket-size': '1' });
        await page.waitForFunction(
          () => !document.querySelector('#ticket-note')?.textContent.startsWith('Enter a size'),
        );
        await fillIn(page, { 'ticket-size': size });
        await until(page, '#ticket-note', 'Enter a size in contracts above 0.');
      }
    });
  });

  await t.test('requests that are open show after a reload, and count down by the time of the server', async (t) => {
    await inPage(t, browser, { service, options, pool: put }, async (page) => {
      await maker.openRfq(put, 9n * ONE, Math.floor(Date.now() / 1000) + 593);
      await until(page, '#requests-rows', 'wants to buy 9.00');
      // A browser whose clock is three hours late.
      await page.clock.install({ time: Date.now() - 3 * 3_600_000 });
      await page.reload();
      await until(page, '#requests-rows', 'wants to buy 9.00');
      await page.waitForFunction(() =>
        /^9 min \d+ s left$/.test(document.querySelector('#requests-rows .countdown')?.textContent ?? ''),
      );
      await page.waitForFunction(() =>
        /^9 min [1-4]\d s left$/.test(document.querySelector('#requests-rows .countdown')?.textContent ?? ''),
      );
      t.equal(await page.locator('#requests-rows .countdown').count(), 1);
    });
  });

  await t.test('an answer to a request is edited before it is placed', async (t) => {
    await inPage(t, browser, { service, options, pool: put }, async (page) => {
      await maker.requestQuotes(put, 2n * ONE);
      await until(page, '#requests-rows', 'wants to buy 2.00');
      await connect(page, 1);
      await page.click('#requests-rows button:has-text("Edit")');
      t.equal(await page.inputValue('#quote-ask-size'), '2');
      await until(page, '#quote-taker', 'Only 0x');
      await fillIn(page, { 'quote-ask': '40' });
      await page.click('#quote-do');
      await until(page, '#quote-note', 'Placed an ask');
    });
  });

  await t.test('an answer to an anonymous request is said to be public', async (t) => {
    await inPage(t, browser, { service, options, pool: put }, async (page) => {
      await maker.openRfq(put, 4n * ONE, Math.floor(Date.now() / 1000) + 593, { anonymous: true });
      await until(page, '#requests-rows', 'wants to buy 4.00');
      const row = page.locator('#requests-rows tr', { hasText: 'wants to buy 4.00' });
      t.match(await row.textContent(), /anonymous; answers are public/);
      await connect(page, 1);
      await row.getByRole('button', { name: 'Edit' }).click();
      t.equal(await page.inputValue('#quote-ask-size'), '4');
      t.equal(await page.isHidden('#quote-taker'), true);
      await row.locator('input').fill('99999');
      await row.getByRole('button', { name: 'Answer' }).click();
      await until(page, '#requests-rows', 'the price is above what a contract can be worth');
    });
  });

  await t.test('takers ask for a package, and accept each leg at its best price', async (t) => {
    await inPage(t, browser, { service, options, pool: put }, async (page) => {
      await maker.ask(put, ONE / 50n, 5n * ONE);
      await maker.bid(other, ONE / 40n, 5n * ONE);
      await connect(page, 5);
      await fillIn(page, { 'rfq-size': '1' });
      await page.click('#rfq-leg');
      await page.click(`td[data-side=bid] [data-pool="${other.poolAddress}"]`);
      await until(page, '#rfq-option', '1700 C');
      await page.selectOption('#rfq-direction', 'bid');
      await page.click('#rfq-leg');
      t.strictSame(
        (await page.locator('#rfq-legs li').allTextContents()).map((text) => text.replace(/\d\d[A-Z]{3}\d\d /, '')),
        ['Buy 1.00 testWETH 1600 P Remove', 'Sell 1.00 testWETH 1700 C Remove'],
      );
      await page.click('#rfq-ask');
      await until(
        page,
        '#rfq-cover',
        'you pay 32.000000 USDC ($32.00) and receive 0.025000 testWETH ($45.00), before fees',
      );
      await until(page, '#rfqs-rows', '(leg 2 of 2)');
      await page.click('#rfq-accept');
      await until(page, '#rfq-note', 'Sold 1.00 testWETH');
      await until(page, '#rfqs-rows tr:nth-child(1)', 'taken: 1.00');
      await until(page, '#rfqs-rows tr:nth-child(2)', 'taken: 1.00');
      await until(page, '#positions-rows', 'short');

      await page.reload();
      await connect(page, 5);
      await until(page, '#rfqs-rows tr:nth-child(2)', '(leg 1 of 2)');
      await page.selectOption('#rfq-direction', 'ask');
      await page.click('#rfq-ask');
      await until(page, '#rfqs-rows tr:nth-child(1)', 'waiting for quotes');
      await page.click('#rfqs-rows tr:nth-child(1) button:has-text("Cancel")');
      await until(page, '#rfqs-rows tr:nth-child(1)', 'cancelled');
    });
  });

  await t.test('a maker hides a quote by a signature, and shows it again', async (t) => {
    await inPage(t, browser, { service, options, pool: other }, async (page) => {
      await connect(page, 6);
      await fillIn(page, { 'quote-ask': '0.25', 'quote-ask-size': '2' });
      await page.click('#quote-do');
      await until(page, '#ladder-rows', '0.2500');
      const quote = page.locator('#quotes-rows tr');
      await quote.getByRole('button', { name: 'Withdraw' }).click();
      await until(page, '#account-note', 'Withdrawn: hidden here, still on chain until you cancel it');
      await until(page, '#quotes-rows', 'withdrawn');
      await page.waitForFunction(() => !document.querySelector('#ladder-rows')?.textContent.includes('0.2500'));
      await quote.getByRole('button', { name: 'Restore' }).click();
      await until(page, '#quotes-rows', 'live');
      await until(page, '#ladder-rows', '0.2500');
    });
  });

  await t.test('a wallet ends what the router may take', async (t) => {
    await inPage(t, browser, { service, options, pool: put }, async (page) => {
      await connect(page, 8);
      const usdc = page.locator('#balances-rows tr:has-text("USDC")');
      await until(page, '#balances-rows', 'USDC');
      t.match(await usdc.textContent(), /any/);
      await usdc.getByRole('button', { name: 'Revoke' }).click();
      await until(page, '#account-note', 'Revoked in transaction');
      await usdc.locator('td:nth-child(3)', { hasText: /^0$/ }).waitFor();
      t.equal(await usdc.getByRole('button').count(), 0);
      await fillIn(page, { 'quote-bid': '20', 'quote-bid-size': '1' });
      await page.click('#quote-do');
      await until(page, '#quote-note', 'Not placed: Insufficient collateral allowance');
    });
  });

  await t.test('quote, fill, request, answer, accept, cancel, and exercise after expiry', async (t) => {
    const { accounts, contracts } = service.chain;
    const taker = accounts[4]?.address ?? '0x';
    const chain = new DevActions(service.chain);
    await chain.approve(taker, traded.poolKey.base, contracts.erc20Router, 0n);
    await inPage(t, browser, { service, options, pool: traded }, async (page) => {
      await connect(page, 1);
      await fillIn(page, { 'quote-bid': '0.02', 'quote-bid-size': '2', 'quote-ask': '0.03', 'quote-ask-size': '3' });
      await page.click('#quote-do');
      await until(page, '#quote-note', 'Placed a bid for 2.00 and an ask for 3.00');
      await until(page, '#ladder-rows .spread', 'spread 0.0100');
      await until(page, '#quotes-rows', 'live');

      await connect(page, 4);
      await until(page, '#ticket-average', '0.03000');
      await fillIn(page, { 'ticket-size': '1.5', 'ticket-limit': '0.029' });
      await until(page, '#ticket-note', 'No quote is within the limit');
      await fillIn(page, { 'ticket-limit': '0.03' });
      await until(page, '#ticket-covered', '1.50 of 1.50');
      t.equal(await page.textContent('#ticket-legs'), '1.50 at 0.03000');
      await until(page, '#ticket-do', 'Approve');
      await page.click('#ticket-do');
      await until(page, '#ticket-do', 'Buy 1.50');
      await page.click('#ticket-do');
      await until(page, '#ticket-note', 'Bought 1.50');
      await until(page, '#positions-rows', '1.5');
      await until(page, '#tape-rows', 'Fill');
      t.equal(await page.locator('#notices > div').count(), 0, 'it was not of this wallet');
      await until(page, '#trades-rows tr', '$54.00');
      t.match(await page.textContent('#trades-rows tr'), /bought0\.03000? \$54\.001\.500x\w{6}…$/);
      await until(page, '#chart-middle', '1.50 traded');
      t.match(await page.getAttribute('#chart', 'aria-label'), /^Price and volume: last 0\.03000?, 1\.50 traded$/);
      await page.click('#tape-filter button:has-text("Fills")');
      const kinds = await page.locator('#tape-rows tr td:nth-child(2)').allTextContents();
      t.match(kinds.join(), /^(Fill\w*,)+,*$/);
      await page.click('#trades-filter button:has-text("Mine")');
      await until(page, '#trades-rows tr', '1.50');

      await fillIn(page, { 'ticket-size': '2', 'ticket-limit': '' });
      await page.click('#ticket-ask');
      await until(page, '#ticket-note', 'Makers are asked');
      await until(page, '#rfqs-rows', 'waiting for quotes');
      await connect(page, 1);
      await until(page, '#requests-rows', 'wants to buy 2.00');
      const answer = page.locator('#requests-rows tr:first-child input');
      t.equal(await answer.inputValue(), '0.03', 'the best ask is proposed');
      await answer.fill('0.025');
      await page.click('#requests-rows tr:first-child button:has-text("Answer")');
      await until(page, '#requests-rows', 'yours is number 1 of 1');

      await connect(page, 4);
      await until(page, '#rfqs-rows', '0.02500');
      await until(page, '#offers-rows', 'public');
      await until(page, '#offers-rows', 'vault');
      const offers = (await page.textContent('#offers-rows')) ?? '';
      t.match(
        offers,
        /[12]0x\w+…\w+for you0\.02500 \$45\.002\.00Accept[23]0x\w+…\w+public0\.03000 \$54\.001\.50Accept/,
      );
      await picture(page, 'page-trading.png');
      await page.click('#offers-rows tr:has-text("for you") button');
      await until(page, '#rfq-note', 'Bought 2.00');
      await until(page, '#rfqs-rows', 'filled: 2.00');
      await until(page, '#positions-rows', '3.5');
      await until(page, '#positions-rows', '0.02715');
      const position = (await page.textContent('#positions-rows tr')) ?? '';
      t.match(
        position,
        /long3\.500\.027150\.02\d{3}0\.0\d+ \$\d+\.\d\d[+−]0\.0\d+ testWETH [+−]\$\d+\.\d\dopen$/,
        'average, mark, value, profit',
      );
      await until(page, '#requests-rows', 'filled');

      await connect(page, 1);
      await until(page, '#quotes-rows', 'live');
      await page.click('#cancel-all');
      await until(page, '#notices', 'on testWETH');
      await until(page, '#notices', 'was cancelled on chain.');
      await page.click('#notices button');
      await until(page, '#quotes-rows', 'This wallet has no quotes');
      await until(page, '#ladder-rows .spread', 'no spread');

      await chain.setSettlementPrice(traded.poolKey, 3000n * ONE);
      await chain.moveTimeTo(traded.poolKey.maturity);
      await connect(page, 4);
      await until(page, '#positions-rows', 'Exercise');
      await page.click('#positions-rows button');
      await until(page, '#account-note', 'Exercised in transaction');
    });
  });
});
