import t from 'tap';
import type { Page, Route } from 'playwright-core';
import { changePools, connect, DESKTOP, fillIn, inPage, until, withPage } from './in-page.js';

const ONE = 10n ** 18n;
const MAKER = 6;

interface RpcCall {
  readonly id: number;
  readonly method: string;
}

await withPage(async ({ browser, service, maker, call }) => {
  const options = { viewport: DESKTOP };
  const note = '#account-note';

  /** Answers calls of the wallet in place of the chain's node; undefined: the node answers. */
  async function interceptWallet(
    page: Page,
    answer: (call: RpcCall, route: Route) => Promise<unknown> | undefined,
  ): Promise<void> {
    await page.route(service.chain.rpcUrl, async (route) => {
      const called = route.request().postDataJSON() as RpcCall;
      const answered = answer(called, route);
      if (answered === undefined) await route.fallback();
      else await answered;
    });
  }
  const result = (route: Route, { id }: RpcCall, value: unknown): Promise<void> =>
    route.fulfill({ json: { jsonrpc: '2.0', id, result: value } });

  async function quote(page: Page): Promise<void> {
    await connect(page, MAKER);
    await fillIn(page, { 'quote-ask': '0.31', 'quote-ask-size': '2' });
    await page.click('#quote-do');
    await until(page, '#quotes-rows', 'live');
  }

  await t.test('a transaction that waits for its block says so, also when its receipt cannot be read', async (t) => {
    await inPage(t, browser, { service, options, pool: call }, async (page) => {
      await quote(page);
      let reads = 0;
      let isHeld = true;
      await interceptWallet(page, (called, route) => {
        if (called.method !== 'eth_getTransactionReceipt' || !isHeld) return undefined;
        reads += 1;
        return reads === 1 ? route.fulfill({ status: 503, body: 'no answer' }) : result(route, called, null);
      });
      await page.getByRole('button', { name: /^Cancel: testWETH \w+ 1600 C, ask$/ }).click();
      await until(page, note, 'Waiting for a block with transaction 0x');
      while (reads < 3) await page.waitForTimeout(50);
      await until(page, note, 'Waiting for a block with transaction 0x');
      isHeld = false;
      await until(page, note, 'Cancelled in transaction 0x');
      t.equal(await page.locator('#account [aria-disabled=true]').count(), 0);
    });
  });

  await t.test('a second press while the wallet is asked sends nothing more', async (t) => {
    await inPage(t, browser, { service, options, pool: call }, async (page) => {
      await quote(page);
      const sent: (() => void)[] = [];
      await interceptWallet(page, (called, route) =>
        called.method === 'eth_sendTransaction'
          ? new Promise<void>((resolve) => sent.push(resolve)).then(() => route.fallback())
          : undefined,
      );
      await page.focus('#cancel-all');
      await page.keyboard.press('Enter');
      await until(page, note, 'Cancelling 1 to 1 of 1 quotes. Waiting for the wallet…');
      t.equal(await page.getAttribute('#cancel-all', 'aria-disabled'), 'true');
      t.equal(await page.evaluate(() => document.activeElement?.id), 'cancel-all', 'it keeps the keyboard');
      await page.keyboard.press('Enter');
      await page.locator('#quotes-rows button').last().focus();
      await page.keyboard.press('Enter');
      while (sent.length === 0) await page.waitForTimeout(50);
      for (const release of sent) release();
      await until(page, note, 'Cancelled 1 quote in transaction 0x');
      t.equal(sent.length, 1);
    });
  });

  await t.test('a wallet that has left the chain is asked to change, and sends nothing', async (t) => {
    await inPage(t, browser, { service, options, pool: call }, async (page) => {
      await quote(page);
      const asked: string[] = [];
      await interceptWallet(page, (called, route) => {
        asked.push(called.method);
        if (called.method === 'eth_chainId') return result(route, called, '0x1');
        return called.method === 'wallet_switchEthereumChain' ? result(route, called, null) : undefined;
      });
      await page.click('#cancel-all');
      await until(page, note, `Cancelled 0 of 1 quotes. The wallet is on another chain: switch it to chain 421613`);
      t.ok(asked.includes('wallet_switchEthereumChain'));
      t.notOk(asked.includes('eth_sendTransaction'));
      await page.unrouteAll();
      await page.click('#cancel-all');
      await until(page, note, 'Cancelled 1 quote in transaction 0x');
    });
  });

  await t.test('a wallet that has left the chain is not read, and the page says so until it is back', async (t) => {
    await maker.ask(call, ONE / 20n, ONE);
    await inPage(t, browser, { service, options, pool: call }, async (page) => {
      await connect(page, MAKER);
      await until(page, '#ticket-do', 'Buy 1.00');
      await interceptWallet(page, (called, route) =>
        called.method === 'eth_chainId' ? result(route, called, '0x1') : undefined,
      );
      await fillIn(page, { 'ticket-size': '0.5' });
      await until(page, '#ticket-note', 'The wallet is on another chain: switch it to chain 421613');
      t.equal(await page.textContent('#ticket-average'), '–');
      t.ok(await page.isDisabled('#ticket-do'));
      await page.unrouteAll();
      await until(page, '#ticket-do', 'Buy 0.50');
      t.equal(await page.textContent('#ticket-note'), '');
    });
  });

  await t.test('when the terms of a trade cannot be read, the page shows none, and no old problem later', async (t) => {
    await inPage(t, browser, { service, options, pool: call }, async (page) => {
      await connect(page, MAKER);
      await until(page, '#ticket-average', '0.05000');
      const refusal = { status: 503, json: { message: 'The chains have not been reached yet' } };
      await page.route(/\/quotes\/cover\?/, (route) => route.fulfill(refusal));
      await maker.ask(call, ONE / 25n, ONE);
      await until(page, '#ticket-note', 'The chains have not been reached yet');
      t.equal(await page.textContent('#ticket-average'), '–');
      t.ok(await page.isDisabled('#ticket-do'));
      await page.unrouteAll();
      await maker.ask(call, ONE / 50n, ONE);
      await until(page, '#ticket-average', '0.02000');
      t.equal(await page.textContent('#ticket-note'), '');
    });
  });

  await t.test('a purchase is one, whatever the form says when it is mined', async (t) => {
    await inPage(t, browser, { service, options, pool: call }, async (page) => {
      await connect(page, MAKER);
      await until(page, '#ticket-do', 'Buy 1.00');
      let send = (): void => undefined;
      await interceptWallet(page, (called, route) =>
        called.method === 'eth_sendTransaction'
          ? new Promise<void>((resolve) => (send = resolve)).then(() => route.fallback())
          : undefined,
      );
      const asked = page.waitForRequest((request) => request.postData()?.includes('eth_sendTransaction') === true);
      await page.click('#ticket-do');
      await asked;
      await page.check('#ticket-sell');
      send();
      await until(page, '#ticket-note', 'Bought 1.00 testWETH');
    });
  });

  await t.test('a wallet that its user refuses to connect leaves the one before connected', async (t) => {
    await inPage(t, browser, { service, options, pool: call }, async (page) => {
      await connect(page, MAKER);
      const shown = await page.textContent('#wallet');
      await interceptWallet(page, (called, route) => {
        const { id, method } = called;
        if (method === 'eth_chainId') return result(route, called, '0x1');
        if (method !== 'wallet_switchEthereumChain') return undefined;
        return route.fulfill({ json: { jsonrpc: '2.0', id, error: { code: 4001, message: 'The user refuses' } } });
      });
      await page.click('#wallet');
      await page.click(`#wallets-list li:nth-child(${MAKER + 2}) button`);
      await until(page, '#wallets-problem', 'The user refuses');
      t.match(shown, /^0x/);
      t.equal(await page.textContent('#wallet'), shown);
      t.ok(await page.isVisible('#wallets-leave'));
    });
  });

  await t.test('a wallet that does not know the chain is said to need it', async (t) => {
    await inPage(t, browser, { service, options, pool: call }, async (page) => {
      await page.evaluate(() => {
        const answers: Record<string, unknown> = { eth_requestAccounts: ['0x' + '12'.repeat(20)], eth_chainId: '0x1' };
        const request = ({ method }: { readonly method: string }): Promise<unknown> =>
          method in answers
            ? Promise.resolve(answers[method])
            : Promise.reject(Object.assign(new Error('Unrecognized chain ID "0x66eed".'), { code: 4902 }));
        Object.assign(globalThis, { ethereum: { request } });
      });
      await page.click('#wallet');
      await page.getByRole('button', { name: 'Browser wallet' }).click();
      await until(page, '#wallets-problem', 'The wallet does not know chain 421613: add it there, then try again');
    });
  });

  await t.test('a second press of "Answer" while the wallet is asked places no second quote', async (t) => {
    await inPage(t, browser, { service, options, pool: call }, async (page) => {
      await connect(page, MAKER);
      await maker.requestQuotes(call, 7n * ONE);
      await until(page, '#requests-rows', 'wants to buy 7.00');
      const signed: (() => void)[] = [];
      await interceptWallet(page, (called, route) =>
        called.method === 'eth_signTypedData_v4'
          ? new Promise<void>((resolve) => signed.push(resolve)).then(() => route.fallback())
          : undefined,
      );
      const row = page.locator('#requests-rows tr', { hasText: 'wants to buy 7.00' });
      await row.locator('input').fill('0.2');
      const answer = row.getByRole('button', { name: 'Answer' });
      await answer.focus();
      await page.keyboard.press('Enter');
      await page.keyboard.press('Enter');
      while (signed.length === 0) await page.waitForTimeout(50);
      t.equal(await answer.getAttribute('aria-disabled'), 'true');
      for (const release of signed) release();
      await until(page, '#quotes-rows', 'private');
      t.equal(signed.length, 1);
      await page.click('#cancel-all');
      await until(page, note, 'Cancelled 1 quote in transaction 0x');
    });
  });

  await t.test('without a pool nothing can be placed or asked', async (t) => {
    await inPage(t, browser, { service, options, pool: call }, async (page) => {
      await changePools(page, () => []);
      await page.reload();
      await until(page, '#chain-rows', 'No option is listed.');
      for (const id of ['#ticket-do', '#ticket-ask', '#quote-do']) t.ok(await page.isDisabled(id), id);
      await page.click('#rfq-ask');
      await until(page, '#rfq-note', 'Choose an option first.');
      await page.unrouteAll();
    });
  });

  await t.test('an account that cannot be read says so, and shows it once it can', async (t) => {
    await inPage(t, browser, { service, options, pool: call }, async (page) => {
      const refusal = { status: 503, json: { message: 'The chains have not been reached yet' } };
      await page.route(/\/account\/collateral_balances/, (route) => route.fulfill(refusal));
      await connect(page, MAKER);
      await until(page, '#balances-rows', 'This cannot be read: ');
      await page.unrouteAll();
      await until(page, '#balances-rows', 'USDC');
    });
  });

  await t.test('a request is open for whole minutes, and an open menu closes with Escape', async (t) => {
    await inPage(t, browser, { service, options, pool: call }, async (page) => {
      await connect(page, MAKER);
      await fillIn(page, { 'rfq-minutes': 'soon' });
      await page.click('#rfq-ask');
      await until(page, '#rfq-note', 'A request is open for at least one minute.');
      await page.click('header summary');
      await page.focus('#theme');
      await page.keyboard.press('Escape');
      t.ok(await page.isHidden('#theme'));
      t.equal(await page.evaluate(() => document.activeElement?.textContent), 'Settings');
    });
  });
});
