import t from 'tap';
import { connect, inPage, until, withPage } from './in-page.js';

const ONE = 10n ** 18n;
const HEIGHT = 900;
/** Number of the maker's account. */
const MAKER = 1;

await withPage(async ({ browser, service, maker, call }) => {
  const dear = service.chain.pools.find(({ poolKey }) => !poolKey.isCallPool && poolKey.strike === 28_000n * ONE);
  if (dear === undefined) throw new Error('a chain has puts of a dear token');
  await maker.ask(dear, (9n * ONE) / 10n, 12n * ONE);
  await maker.ask(call, ONE / 20n, 15n * ONE);
  await maker.requestQuotes(call, ONE);

  await t.test('at no width is anything cut off of a price, a strike or what the tape tells', async (t) => {
    for (const width of [360, 390, 641, 768, 1081, 1280, 1440]) {
      for (const [pool, ask] of [
        [dear, '25\u202f200.00'],
        [call, '0.05000'],
      ] as const) {
        const options = { viewport: { width, height: HEIGHT } };
        await inPage(t, browser, { service, options, pool }, async (page) => {
          await until(page, '#ladder-rows .ask:nth-child(9)', ask);
          await until(page, `td[data-side=ask] [data-pool="${pool.poolAddress}"]`, ask);
          await until(page, '#tape-rows', '28000 P');
          for (const tab of width > 640 ? [null] : ['Options', 'Book', 'Activity']) {
            if (tab !== null) await page.click(`#tabs button:has-text("${tab}")`);
            const cut = await page.evaluate(() =>
              [...document.querySelectorAll('main td, main th, main td button, main td span:not(:has(+ .usd))')]
                .filter((element) => element.checkVisibility() && element.className !== 'hidden')
                .filter((element) => element.childElementCount === 0 || element.lastElementChild?.className === 'usd')
                .filter((element) => getComputedStyle(element).fontSize !== '0px')
                .filter((element) => {
                  const { paddingLeft, paddingRight } = getComputedStyle(element);
                  const room = element.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight);
                  const text = document.createRange();
                  text.selectNodeContents(element);
                  return text.getBoundingClientRect().width > room + 0.5;
                })
                .map(({ textContent }) => textContent),
            );
            t.strictSame(cut, [], `${width} wide, with an ask of ${ask}, ${tab ?? 'all'}`);
          }
        });
      }
    }
  });

  await t.test('beside both chains there is room for all that the feed says', async (t) => {
    for (const width of [700, 1081, 1280, 1440]) {
      const options = { viewport: { width, height: HEIGHT } };
      await inPage(t, browser, { service, options, pool: call }, async (page) => {
        const missing = await page.locator('#feed').evaluate((feed) => {
          feed.textContent = 'event 1234567, 151 ms, verified';
          return feed.scrollWidth - feed.clientWidth;
        });
        t.equal(missing, 0, `${width} wide`);
      });
    }
  });

  await t.test('at no width is a button of the account beyond its edge', async (t) => {
    await maker.fill(call, ONE);
    for (const width of [360, 390, 641, 768, 1081, 1280, 1439, 1440]) {
      await inPage(
        t,
        browser,
        { service, options: { viewport: { width, height: HEIGHT } }, pool: call },
        async (page) => {
          await connect(page, MAKER);
          if (width <= 640) await page.click('#tabs button:has-text("Account")');
          for (const [rows, text] of [
            ['#quotes-rows', 'Withdraw'],
            ['#positions-rows', 'short'],
            ['#balances-rows', 'Revoke'],
          ] as const) {
            await until(page, rows, text);
          }
          const wide = await page
            .locator('#account .scroller')
            .evaluateAll((all) =>
              all.filter((each) => each.scrollWidth > each.clientWidth).map((each) => each.ariaLabel),
            );
          t.strictSame(wide, [], `${width} wide`);
        },
      );
    }
  });
});
