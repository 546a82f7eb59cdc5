import t from 'tap';
import type { Page } from 'playwright-core';
import { connect, DESKTOP, fillIn, inPage, refuseSecondTransaction, until, withPage } from './in-page.js';

const ONE = 10n ** 18n;
const TAKER = 4;
const STRANGER = 5;

await withPage(async ({ browser, service, maker, call, put }) => {
  const options = { viewport: DESKTOP };

  await t.test(
    'while offers are read again the best can be accepted, and an old answer replaces no newer',
    async (t) => {
      await inPage(t, browser, { service, options, pool: call }, async (page) => {
        await maker.ask(call, ONE / 20n, ONE);
        await connect(page, TAKER);
        let answerFirst = (): void => undefined;
        let reads = 0;
        await page.route(/\/rfqs\/[^/]+\/cover/, async (route) => {
          reads += 1;
          if (reads === 1) await new Promise<void>((resolve) => (answerFirst = resolve));
          await route.continue();
        });
        const first = page.waitForResponse((response) => response.url().endsWith('/cover'), { timeout: 0 });
        await page.click('#rfq-ask');
        while (reads === 0) await page.waitForTimeout(50);
        await maker.ask(call, ONE / 25n, ONE);
        await until(page, '#offers-rows', '0.04000');
        await page.waitForSelector('#rfq-accept');
        await page.evaluate(() => {
          const accept = document.querySelector('#rfq-accept');
          if (accept === null) throw new Error('the page has the button');
          const changes: string[] = [];
          new MutationObserver((all) => {
            changes.push(...all.map(({ attributeName }) => attributeName ?? ''));
          }).observe(accept, { attributeFilter: ['hidden'] });
          Object.assign(globalThis, { changes });
        });
        await maker.ask(call, ONE / 50n, ONE);
        await until(page, '#offers-rows', '0.02000');
        answerFirst();
        await first;
        await page.evaluate(() => new Promise((resolve) => setTimeout(resolve)));
        t.match(await page.textContent('#offers-rows'), /0\.02000/);
        t.strictSame(await page.evaluate(() => (globalThis as unknown as { changes: string[] }).changes), []);
      });
    },
  );

  await t.test('when a leg of a package fails, the page says what was traded before it', async (t) => {
    await inPage(t, browser, { service, options, pool: put }, async (page) => {
      await maker.ask(put, ONE / 50n, 5n * ONE);
      await connect(page, TAKER);
      await askForBoth(page);
      await refuseSecondTransaction(page, service.chain.rpcUrl);
      await page.click('#rfq-accept');
      await until(page, '#rfq-note', 'The user refuses');
      t.match(await page.textContent('#rfq-note'), /^Bought 0\.25 testWETH .* 1600 P in .*\. The user refuses$/);
    });
  });

  await t.test('what one wallet asked for is not sent from another', async (t) => {
    await inPage(t, browser, { service, options, pool: put }, async (page) => {
      await connect(page, TAKER);
      await askForBoth(page);
      const sent: string[] = [];
      page.on('request', (request) => {
        if (request.postData()?.includes('eth_sendTransaction') === true) sent.push(request.url());
      });
      let answer = (): void => undefined;
      let held = 0;
      await page.route(/\/quotes\/cover\?.*size=250000000000000000/, async (route) => {
        held += 1;
        await new Promise<void>((resolve) => (answer = resolve));
        await route.continue();
      });
      await page.click('#rfq-accept');
      while (held === 0) await page.waitForTimeout(50);
      await connect(page, STRANGER);
      answer();
      await until(page, '#rfq-note', 'The wallet that asked is no longer connected: nothing more was sent.');
      t.strictSame(sent, []);
    });
  });

  async function askForBoth(page: Page): Promise<void> {
    await fillIn(page, { 'rfq-size': '0.25' });
    await page.click('#rfq-leg');
    await page.click(`td[data-side=ask] [data-pool="${call.poolAddress}"]`);
    await until(page, '#rfq-option', '1600 C');
    await page.click('#rfq-leg');
    await page.click('#rfq-ask');
    await until(page, '#rfq-accept', 'Accept 2 legs');
  }
});
