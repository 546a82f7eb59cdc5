import t, { type Test } from 'tap';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { DESKTOP, picture, until, withPage } from './in-page.js';

const HEIGHT = 800;

await withPage(async ({ browser, service }) => {
  const { httpUrl, apiKey } = service;

  /** Shows an address in a window of its own. An error in it fails the test, and so does a request to another server. */
  async function show(t: Test, address: string, options: BrowserContextOptions, use: (page: Page) => Promise<void>) {
    const context = await browser.newContext(options);
    t.teardown(() => context.close());
    const page = await context.newPage();
    const problems: string[] = [];
    page.on('request', (request) => {
      const isOwn = request.url().startsWith(httpUrl) || /^(data|blob):/.test(request.url());
      if (!isOwn) problems.push(request.url());
    });
    page.on('pageerror', (error) => problems.push(String(error)));
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) problems.push(message.text());
    });
    await page.goto(httpUrl + address);
    await use(page);
    t.strictSame(problems, [], 'nothing went wrong, and nothing is fetched from elsewhere');
  }

  await t.test('without scripts, with all of it unfolded, the page is no wider than the window', async (t) => {
    for (const width of [320, 390, 768, 1440]) {
      const options = { viewport: { width, height: HEIGHT }, javaScriptEnabled: false };
      await show(t, '/docs', options, async (page) => {
        const shown = await page.evaluate(() => {
          const folded = document.querySelectorAll('details');
          for (const each of folded) each.open = true;
          return { folded: folded.length, width: document.documentElement.scrollWidth };
        });
        t.ok(shown.folded > 20);
        t.equal(shown.width, width);
        t.ok(await page.isVisible('#error-rate_limited'));
      });
    }
  });

  await t.test('with scripts an operation is shown with its call, and the search finds another', async (t) => {
    await show(t, '/docs#orderbook/getquotes', { viewport: DESKTOP }, async (page) => {
      await until(page, '#rendered', 'The best quotes that together cover a size on a side of a pool');
      await until(page, '#rendered', `${httpUrl}/quotes?poolAddress=`);
      await until(page, '#rendered', `x-apikey: ${apiKey}`);
      t.notOk(await page.isVisible('#plain'));
      await picture(page, 'docs.png');
      await page.keyboard.press('Control+K');
      await page.getByPlaceholder('Search docs...').fill('candles');
      const results = page.getByText('The oldest first, at most the newest 1,000.').filter({ visible: true });
      await results.first().click();
      await page.waitForFunction(() => location.hash.includes('getcandles'));
    });
  });

  await t.test('from an operation a form leads to the service, with the local key and an own option', async (t) => {
    await show(t, '/docs#orderbook/getbookpool', { viewport: DESKTOP }, async (page) => {
      await until(page, '#rendered', "The price levels of one pool's public quotes");
      await page.click('#bar >> text=Try it');
      await page.waitForFunction(() => location.hash.startsWith('#try/getbookpool'));
      t.equal(await page.inputValue('#try-key'), apiKey);
      await page.waitForFunction(
        (pool) => document.querySelector<HTMLInputElement>('#try-path-pool')?.value === pool,
        (
          await fetch(`${httpUrl}/instruments`, { headers: { 'x-apikey': apiKey } }).then(
            (response) => response.json() as Promise<{ poolAddress: string }[]>,
          )
        )[0]?.poolAddress,
      );
      t.notOk(await page.isVisible('#rendered'));
      await page.click('#try button');
      await until(page, '#try [role=status]', '200 after ');
      await until(page, '#try pre', '"bids": []');
      await picture(page, 'docs-try-it.png');
      await page.selectOption('#try-operation', 'postOrdersQuery');
      await page.click('#try button');
      await until(page, '#try [role=status]', '200 after ');
      await until(page, '#try pre', '"validQuotes": []');
      await page.click('#bar a[href="/docs"]');
      await until(page, '#rendered', 'A real-time orderbook for on-chain options.');
      t.notOk(await page.isVisible('#try'));
    });
  });

  await t.test('the sockets have a page in the same look', async (t) => {
    await show(t, '/docs/sockets', { viewport: DESKTOP }, async (page) => {
      await until(page, '#rendered', 'The plain protocol: JSON text frames, one message each.');
      await until(page, '#rendered', '"type": "AUTH"');
      t.notOk(await page.isVisible('#plain'));
    });
  });

  await t.test("the address of an error's type shows that error, and from there the way leads back", async (t) => {
    await show(t, '/docs#error-rate_limited', { viewport: DESKTOP }, async (page) => {
      await page.waitForSelector('#error-rate_limited', { state: 'visible' });
      t.notOk(await page.isVisible('#orderbook'), 'nothing but errors');
      await page.waitForFunction(() => {
        const { top = -1 } = document.querySelector('#error-rate_limited')?.getBoundingClientRect() ?? {};
        // A window scrolls by whole pixels.
        return top > -1 && top < innerHeight;
      });
      await page.click('#bar a[href="/docs"]');
      await until(page, '#rendered', 'A real-time orderbook for on-chain options.');
      await page.click('#bar a[href="/docs#errors"]');
      await page.waitForSelector('#error-rate_limited', { state: 'visible' });
      t.notOk(await page.isVisible('#rendered'));
    });
  });
});
