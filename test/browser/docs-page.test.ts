import t from 'tap';
import { withPage } from './in-page.js';

const HEIGHT = 800;

await withPage(async ({ browser, service }) => {
  await t.test('with all of it unfolded the page of the API is no wider than the window', async (t) => {
    for (const width of [320, 390, 768, 1440]) {
      const context = await browser.newContext({ viewport: { width, height: HEIGHT } });
      t.teardown(() => context.close());
      const page = await context.newPage();
      const problems: string[] = [];
      page.on('console', (message) => problems.push(message.text()));
      await page.goto(`${service.httpUrl}/docs`);
      const shown = await page.evaluate(() => {
        const folded = document.querySelectorAll('details');
        for (const each of folded) each.open = true;
        return { folded: folded.length, width: document.documentElement.scrollWidth };
      });
      t.ok(shown.folded > 20);
      t.equal(shown.width, width);
      t.strictSame(problems, []);
    }
  });
});
