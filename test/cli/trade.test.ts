import t from 'tap';
import { type CliCommand, EXIT_FAILED, EXIT_OK, EXIT_USAGE, runCommand } from '../../src/cli/run.js';
import { accountCommand, watchCommand } from '../../src/cli/read.js';
import { tradeCommands } from '../../src/cli/trade.js';
import { Market, ONE } from '../chain/dev/market.js';
import { RpcProxy } from '../chain/rpc-proxy.js';
import { RestClient } from '../e2e/rest-client.js';
import { startTestService } from '../e2e/running-service.js';
import { until, untilAnswer } from '../until.js';

const running = await startTestService({ limits: { wsHeartbeatMs: 50 } });
t.teardown(() => running.stop());
const { chain, httpUrl, apiKey } = running;
const commands: readonly [CliCommand, ...CliCommand[]] = [accountCommand, watchCommand, ...tradeCommands];
const [, maker, taker] = chain.accounts;
const [pool] = chain.pools;
if (maker === undefined || taker === undefined || pool === undefined) throw new Error('a chain has accounts and pools');
const option = pool.poolAddress;
const listed = await new RestClient(httpUrl, apiKey).get('/instruments');
const instrument =
  (listed.body as unknown as { instrument: string; poolAddress: string }[]).find(
    ({ poolAddress }) => poolAddress === option,
  )?.instrument ?? '';

async function run(words: readonly string[], environment: Record<string, string> = {}, out: string[] = []) {
  const err: string[] = [];
  const code = await runCommand(words, commands, '0.0.0', {
    out: (line) => out.push(line),
    err: (line) => err.push(line),
    environment,
    async readText(file) {
      if (file === 'maker.key') return `${maker?.privateKey}\n`;
      if (file !== 'data/ready.json') throw new Error(`there is no ${file}`);
      const { rpcUrl, chainId, accounts, contracts } = chain;
      return JSON.stringify({ httpUrl, apiKey, chainId, rpcUrl, accounts, contracts });
    },
  });
  return { code, out, err };
}

async function quote(price: string, size = '2', ...more: string[]): Promise<string> {
  const { code, out, err } = await run(['quote', option, 'ask', price, size, '--json', ...more]);
  t.equal(code, EXIT_OK, err.join('\n'));
  return (JSON.parse(out[0] ?? '') as { quoteId: string }).quoteId;
}

await t.test('quote signs and publishes, also for one taker; a dry run publishes nothing', async (t) => {
  const dry = await run(['quote', option, 'ask', '0.05', '2', '--dry-run', '--json']);
  t.equal(dry.code, EXIT_OK, dry.err.join('\n'));
  const said = await run(['quote', option, 'ask', '0.05', '2', '--dry-run']);
  t.match([said.code, said.out, said.err], [EXIT_OK, [/^0x[0-9a-f]{64} would be published$/], []]);
  t.match(JSON.parse(dry.out[0] ?? ''), { outcome: 'created', signer: maker.address.toLowerCase() });
  const byFile = await run(['quote', option, 'bid', '0.01', '1', '--key-file', 'maker.key']);
  t.equal(byFile.code, EXIT_OK, byFile.err.join('\n'));
  t.match(byFile.out[0], /^0x[0-9a-f]{64} is live$/);
  await quote('0.05');
  await quote('0.04', '1', '--taker', taker.address);
});

await t.test('a refused quote says what to do', async (t) => {
  const dear = await run(['quote', option, 'ask', '1.5', '2', '--dry-run']);
  t.strictSame([dear.code, dear.out], [EXIT_FAILED, []]);
  t.match(dear.err, [/^The quote would be refused: OutOfBoundsPrice/, /^PRICE is at most 1/]);
  const poor = { QUOTEBOOK_TRADER_KEY: `0x${'12'.repeat(32)}` };
  const large = await run(['quote', option, 'bid', '0.05', '2000000000', '--dry-run']);
  t.equal(large.code, EXIT_FAILED);
  t.match(large.err.join('\n'), /The account has less than the 100000000 testWETH that the quote needs\./);
  const allowance = `\`quotebook approve ${instrument} 1.9\` lets it.`;
  const { code, out, err } = await run(['quote', option, 'ask', '0.05', '2'], poor);
  t.strictSame([code, out], [EXIT_FAILED, []]);
  t.strictSame(err, [
    'The quote was refused: InsufficientCollateralAllowance',
    `The router may not move the 1.9 testWETH that the quote needs: ${allowance}`,
  ]);
});

await t.test('an account that is named goes before the key of the environment', async (t) => {
  const environment = { QUOTEBOOK_TRADER_KEY: taker.privateKey };
  const signer = async (...more: string[]): Promise<unknown> => {
    const { out, err } = await run(['quote', option, 'ask', '0.05', '2', '--dry-run', '--json', ...more], environment);
    return (JSON.parse(out[0] ?? JSON.stringify({ signer: err })) as { signer: unknown }).signer;
  };
  t.equal(await signer(), taker.address.toLowerCase());
  t.equal(await signer('--account', '1'), maker.address.toLowerCase());
  t.equal(await signer('--key-file', 'maker.key'), maker.address.toLowerCase());
  t.match(await signer('--key-file', 'maker.key', '--account', '1'), [/name one account: --account or --key-file/]);
});

await t.test('rfq shows private answers beside the public book', async (t) => {
  const words = ['rfq', option, 'buy', '3', '--wait', '1', '--account', '2'];
  const { code, out, err } = await run(words);
  t.equal(code, EXIT_OK, err.join('\n'));
  t.match(out[1], /^ *0\.04 +1 +private /);
  t.match(out[2], /^ *0\.05 +2 +public /);
  const more = await run([...words.slice(0, 3), '4', ...words.slice(4)]);
  t.equal(more.code, EXIT_FAILED);
  t.match(more.err, [/cover 3 of 4/]);
});

await t.test('fill shows the cost first, then fills within the limit', async (t) => {
  const words = ['fill', option, 'buy', '2', '--limit', '0.05', '--account', '2', '--json'];
  const dry = await run([...words, '--dry-run']);
  t.equal(dry.code, EXIT_OK, dry.err.join('\n'));
  t.match(JSON.parse(dry.out[0] ?? ''), { covered: (2n * ONE).toString(), shortfall: '0' });
  const { code, out, err } = await run([...words, '--approve']);
  t.equal(code, EXIT_OK, err.join('\n'));
  t.match(JSON.parse(out[0] ?? ''), { filled: (2n * ONE).toString(), shortfall: '0', fills: [{}, {}] });
  const dear = await run(['fill', option, 'buy', '1', '--limit', '0.001', '--account', '2']);
  t.equal(dear.code, EXIT_FAILED);
  t.strictSame(dear.err, ['1 is not filled: no quote of others is within the limit.']);
});

await t.test('a dry run of a fill says what is not covered, and why', async (t) => {
  const id = await quote('0.05');
  for (const [size, limit, out, err] of [
    ['4', '0.05', '3 contracts, premium 0.15, fee', '1 is not covered: the quotes within the limit are too few.'],
    ['3', '0.01', '0 contracts, premium 0, fee 0', '3 is not covered: no quote of others is within the limit.'],
  ] as const) {
    const dry = await run(['fill', option, 'buy', size, '--limit', limit, '--account', '2', '--dry-run']);
    t.equal(dry.code, EXIT_FAILED);
    t.match(dry.out, [out]);
    t.strictSame(dry.err, [err]);
  }
  t.equal((await run(['cancel', id])).code, EXIT_OK);
});

await t.test('a fill that fails in the middle prints what it has filled before the error', async (t) => {
  const proxy = await RpcProxy.open(chain.rpcUrl);
  t.teardown(() => proxy.close());
  let sent = 0;
  proxy.trick = ({ method }) => {
    if (method === 'eth_sendRawTransaction') sent += 1;
    return sent > 0 && method === 'eth_call' ? { status: 502, body: 'bad gateway' } : 'PASS';
  };
  await run(['approve', option, '10', '--account', '2']);
  for (const json of [[], ['--json']]) {
    sent = 0;
    await quote('0.01', '1');
    const left = await quote('0.02', '1');
    const words = ['fill', option, 'buy', '2', '--limit', '0.02', '--account', '2', '--rpc-url', proxy.url];
    const { code, out, err } = await run([...words, ...json]);
    t.equal(code, EXIT_FAILED);
    t.match(err.join('\n'), /The fill ended early, after 1 of its quotes\n.*502/s);
    t.equal(out.length, 1);
    if (json.length === 0) t.match(out[0], /^1 contracts, premium 0\.01, .*transaction 0x[0-9a-f]{64}$/);
    else t.match(JSON.parse(out[0] ?? ''), { filled: ONE.toString(), fills: [{}], pending: null });
    await run(['cancel', left]);
  }
});

await t.test('approve sets what the router may move; without it fill says what is missing', async (t) => {
  await quote('0.05');
  const asTaker = ['--account', '2'];
  const fill = (...more: string[]) => run(['fill', option, 'buy', '1', '--limit', '0.05', ...more]);
  const none = await run(['approve', option, '0', ...asTaker]);
  t.equal(none.code, EXIT_OK, none.err.join('\n'));
  const refused = await fill(...asTaker);
  t.equal(refused.code, EXIT_FAILED);
  t.match(refused.err, [
    /^quotebook: The router may move 0 of the 0\.0\d+ testWETH that .* needs: --approve lets it\.$/,
  ]);
  const { code, out, err } = await run(['approve', option, '0.25', ...asTaker]);
  t.equal(code, EXIT_OK, err.join('\n'));
  t.match(out, [/^the router may move 0\.25 testWETH, transaction 0x[0-9a-f]{64}$/]);
  t.equal((await fill(...asTaker)).code, EXIT_OK);
  const poor = await run(['fill', option, 'buy', '1', '--limit', '0.05'], {
    QUOTEBOOK_TRADER_KEY: `0x${'12'.repeat(32)}`,
  });
  t.match(poor.err, [/^quotebook: The account has 0 of the 0\.0\d+ testWETH that the fill needs\.$/]);
  t.match((await run(['approve', option, 'all'])).err[0], /AMOUNT is a decimal number/);
});

await t.test('cancel ends quotes by their ids, and all of an account', async (t) => {
  const id = await quote('0.06');
  await quote('0.07');
  const one = await run(['cancel', id.toUpperCase().replace('0X', '0x')]);
  t.equal(one.code, EXIT_OK, one.err.join('\n'));
  t.match(one.out, [/^transaction 0x/]);
  const again = await run(['cancel', id]);
  t.equal(again.code, EXIT_USAGE);
  t.match(again.err[0], /shows this key no quote/);
  const all = await run(['cancel', '--all', '--json', option]);
  t.equal(all.code, EXIT_OK, all.err.join('\n'));
  t.equal((JSON.parse(all.out[0] ?? '') as object[]).length, 1);
  t.notOk((await run(['account', maker.address])).out.some((line) => line.endsWith('live')));
  t.match((await run(['cancel', '--all'])).err, [/has no quotes to cancel/]);
});

await t.test('account lists withdrawn quotes, and cancel of all ends them', async (t) => {
  const [id] = [await quote('0.06'), await quote('0.07', '1', '--taker', taker.address)];
  t.equal((await run(['withdraw', '--all'])).code, EXIT_OK);
  const account = async (...more: string[]) => (await run(['account', maker.address, ...more])).out;
  const shown = (await account()).filter((line) => line.endsWith('withdrawn'));
  t.equal(shown.length, 2);
  t.ok(shown.some((line) => new RegExp(`^ *${instrument}  ${id} +ask +0\\.06 +2 `).test(line)));
  t.match(JSON.parse((await account('--json'))[0] ?? ''), { withdrawn: [{ instrument }, { instrument }] });
  const { code, out, err } = await run(['cancel', '--all', option]);
  t.equal(code, EXIT_OK, err.join('\n'));
  t.match(out, [/^transaction 0x/]);
  t.notOk((await account()).some((line) => line.endsWith('withdrawn')));
});

await t.test('account names a position as it names a quote', async (t) => {
  const { out } = await run(['account', maker.address]);
  t.ok(
    out.some((line) => new RegExp(`^ *${instrument} +short `).test(line)),
    out.join('\n'),
  );
});

await t.test('cancel ends a private quote by its id', async (t) => {
  const id = await quote('0.06', '1', '--taker', taker.address);
  const { code, out, err } = await run(['cancel', id]);
  t.equal(code, EXIT_OK, err.join('\n'));
  t.match(out, [/^transaction 0x/]);
  t.equal((await run(['cancel', id])).code, EXIT_USAGE);
});

await t.test('withdraw hides quotes by their ids and shows them again, and hides all of an option', async (t) => {
  const [id, other] = [await quote('0.06'), await quote('0.07', '1', '--taker', taker.address)];
  const isLive = async (quoteId: string): Promise<boolean> => {
    const { body } = await new RestClient(httpUrl, apiKey).get(`/orders?quoteIds=${quoteId}`);
    return (body.validQuotes as readonly unknown[]).length > 0;
  };
  t.strictSame((await run(['withdraw', id])).out, [`${id} is withdrawn`]);
  t.strictSame([await isLive(id), await isLive(other)], [false, true]);
  t.strictSame(await run(['withdraw', id]), { code: EXIT_OK, out: [], err: ['Nothing is left to change.'] });
  t.strictSame((await run(['withdraw', '--restore', id])).out, [`${id} is shown again`]);
  t.ok(await isLive(id));
  const ofOther = await run(['withdraw', id, '--account', '2']);
  t.equal(ofOther.code, EXIT_FAILED);
  t.strictSame([ofOther.out, ofOther.err], [[], [`The book has no quote ${id} of ${taker.address}.`]]);
  t.ok(await isLive(id));
  const all = await run(['withdraw', '--all', option, '--json']);
  t.equal(all.code, EXIT_OK, all.err.join('\n'));
  t.match((JSON.parse(all.out[0] ?? '[]') as string[]).sort(), [id, other].sort());
  t.strictSame([await isLive(id), await isLive(other)], [false, false]);
  for (const words of [['withdraw'], ['withdraw', '0x12'], ['withdraw', '--all', '--restore']]) {
    t.equal((await run(words)).code, EXIT_USAGE, words.join(' '));
  }
  t.equal((await run(['withdraw', '--restore', id, other])).code, EXIT_OK);
  t.equal((await run(['cancel', id, other])).code, EXIT_OK);
});

await t.test('cancel leaves quotes of others alone', async (t) => {
  const id = await quote('0.06');
  const { code, err } = await run(['cancel', id, '--account', '2']);
  t.equal(code, EXIT_USAGE);
  t.match(err[0], new RegExp(`no quote ${id} of ${taker.address}`, 'i'));
  t.equal((await run(['cancel', id])).code, EXIT_OK);
});

await t.test('a key without scopes trades where privacy is proven', async (t) => {
  const walletKey = chain.accounts.at(-1)?.privateKey;
  if (walletKey === undefined) throw new Error('a chain has accounts');
  const proven = await startTestService({ chain, walletKey, privacy: 'proven', limits: { wsHeartbeatMs: 50 } });
  t.teardown(() => proven.stop());
  const { key } = await proven.keys.create('paid', 'taker');
  const runThere = (words: readonly string[], out: string[] = []) =>
    run([...words, '--url', proven.httpUrl, '--ready', 'data/ready.json'], { QUOTEBOOK_API_KEY: key }, out);
  /** An ask of one contract, of which `proven` knows. */
  const shown = async (price: string, ...more: string[]): Promise<string> => {
    const { code, err, out } = await runThere(['quote', option, 'ask', price, '1', '--json', ...more]);
    t.equal(code, EXIT_OK, err.join('\n'));
    return (JSON.parse(out[0] ?? '') as { quoteId: string }).quoteId;
  };
  const toTaker = ['--taker', taker.address];

  await t.test('watch shows it public quotes, and says that private ones are left out', async (t) => {
    const listeners = process.listenerCount('SIGINT');
    const out: string[] = [];
    const watching = runThere(['watch', option, '--json'], out);
    await until(() => process.listenerCount('SIGINT') !== listeners);
    await shown('0.03', ...toTaker);
    const id = await shown('0.04');
    await until(() => out.length > 0);
    process.emit('SIGINT');
    const { code, err } = await watching;
    t.equal(code, EXIT_OK);
    t.match(JSON.parse(out[0] ?? ''), { type: 'POST_QUOTE', body: { quoteId: id } });
    t.match(err, [/private ones take a key with the scope takers:all/]);
  });

  await t.test('rfq and fill sign in, and take private quotes', async (t) => {
    const asked = await runThere(['rfq', option, 'buy', '2', '--wait', '1', '--account', '2']);
    t.equal(asked.code, EXIT_OK, asked.err.join('\n'));
    t.match(asked.out[1], /^ *0\.03 +1 +private /);
    const words = ['fill', option, 'buy', '2', '--limit', '0.05', '--account', '2', '--approve', '--json'];
    const { code, out, err } = await runThere(words);
    t.equal(code, EXIT_OK, err.join('\n'));
    t.match(JSON.parse(out[0] ?? ''), { filled: (2n * ONE).toString(), shortfall: '0' });
  });

  await t.test('cancel signs in, and ends private quotes, too', async (t) => {
    const [hidden, id] = [await shown('0.03', ...toTaker), await shown('0.04')];
    t.equal((await runThere(['cancel', id])).code, EXIT_OK);
    const byId = await runThere(['cancel', hidden]);
    t.equal(byId.code, EXIT_OK, byId.err.join('\n'));
    await shown('0.05', ...toTaker);
    t.equal((JSON.parse((await runThere(['cancel', '--all', '--json'])).out[0] ?? '') as object[]).length, 1);
    t.match((await run(['cancel', '--all'])).err, [/has no quotes to cancel/]);
  });
});

await t.test('a sign-in that the service refuses leaves cancel its public quotes', async (t) => {
  const walletKey = chain.accounts.at(-2)?.privateKey;
  if (walletKey === undefined) throw new Error('a chain has accounts');
  const signInDomains = ['book.example'];
  const options = { chain, walletKey, privacy: 'proven', signInDomains, limits: { wsHeartbeatMs: 50 } } as const;
  const proven = await startTestService(options);
  t.teardown(() => proven.stop());
  const { key } = await proven.keys.create('paid', 'maker');
  const runThere = (...words: string[]) =>
    run([...words, '--url', proven.httpUrl, '--ready', 'data/ready.json'], { QUOTEBOOK_API_KEY: key });
  const shown = async (...more: string[]): Promise<string> => {
    const { code, err, out } = await runThere('quote', option, 'ask', '0.05', '1', '--json', ...more);
    t.equal(code, EXIT_OK, err.join('\n'));
    return (JSON.parse(out[0] ?? '') as { quoteId: string }).quoteId;
  };
  const refusal = /The domain 127\.0\.0\.1:\d+ is none of signInDomains: name one of these with --sign-in-domain$/;

  await t.test('by its id without a sign-in', async (t) => {
    const { code, out, err } = await runThere('cancel', await shown());
    t.strictSame([code, err], [EXIT_OK, []]);
    t.match(out, [/^transaction 0x/]);
  });

  await t.test('all of them, and says that private ones may be left out', async (t) => {
    await shown();
    const { code, out, err } = await runThere('cancel', '--all');
    t.equal(code, EXIT_OK, err.join('\n'));
    t.match(out, [/^transaction 0x/]);
    t.match(err, [/^Private quotes may be left out: The domain/]);
    t.match(err, [refusal]);
  });

  await t.test('and at a host of the service the private ones, too', async (t) => {
    const id = await shown('--taker', taker.address);
    const refused = await runThere('cancel', id);
    t.equal(refused.code, EXIT_USAGE);
    t.match(refused.err.join('\n'), /Private quotes may be left out.*shows this key no quote/s);
    const { code, out, err } = await runThere('cancel', id, '--sign-in-domain', 'book.example');
    t.strictSame([code, err], [EXIT_OK, []]);
    t.match(out, [/^transaction 0x/]);
    t.match((await runThere('withdraw', '--all')).err, [refusal]);
    t.equal((await runThere('withdraw', '--all', '--sign-in-domain', 'book.example')).code, EXIT_OK);
  });

  await t.test('a quota that is used up says for how long', async (t) => {
    const signIn = () => runThere('withdraw', '--all', '--sign-in-domain', 'book.example');
    const { err } = await untilAnswer(signIn, ({ code }) => code !== EXIT_OK);
    t.match(err, [/^quotebook: A quota of the key or of the address is used up: try again in \d+ s$/]);
  });
});

await t.test('wrong words are refused before anything is sent', async (t) => {
  for (const [words, says] of [
    [['quote', option, 'ask', '1'], /say `quotebook quote/],
    [['quote', option, 'sell', '1', '1'], /bid or ask/],
    [['quote', option, 'ask', 'x', '1'], /PRICE is a decimal number/],
    [['quote', option, 'ask', '1', '0'], /SIZE is above 0/],
    [['quote', option, 'ask', '1', '1', '--account', '99'], /--account is a number from 0/],
    [['rfq', option, 'ask', '1'], /buy or to sell/],
    [['rfq', option, 'buy', '1', '--wait', 'long'], /--wait is a whole number of seconds above 0/],
    [['quote', option, 'ask', '1', '1', '--expires-in', '0'], /--expires-in is a whole number of seconds above 0/],
    [['fill', option, 'buy', '1'], /--limit is a decimal number/],
    [['fill', option, 'buy', '1', '--limit', '1', '--router', 'x'], /--router/],
    [['cancel'], /name quotes by their ids/],
    [['exercise'], /say `quotebook exercise POOL`/],
    [['settle', 'WETH-USDC-01JAN20-1-C'], /no expired short position/],
  ] as const) {
    const { code, err } = await run(words);
    t.equal(code, EXIT_USAGE, words.join(' '));
    t.match(err.join('\n'), says);
  }
  const { code, err } = await run(['quote', option, 'ask', '1', '1'], { QUOTEBOOK_TRADER_KEY: 'secret' });
  t.equal(code, EXIT_USAGE);
  t.match(err.join('\n'), /not 32 bytes in hex/);
  t.notMatch(err.join('\n'), /secret/);
});

await t.test('after the maturity exercise and settle pay out, by the name of the option or its pool', async (t) => {
  const market = new Market(chain);
  const { strike, isCallPool, maturity } = pool.poolKey;
  await market.setSettlementPrice(pool.poolKey, isCallPool ? 2n * strike : strike / 2n);
  await market.moveTimeTo(maturity);
  const nameOf = async (): Promise<string> => {
    const { out } = await run(['account', taker.address, '--json']);
    const { positions } = JSON.parse(out[0] ?? '') as {
      positions: { expired: { token_address: string; name: string }[] };
    };
    return positions.expired.find(({ token_address: address }) => address === option)?.name ?? '';
  };
  const name = await untilAnswer(nameOf, (found) => found !== '');
  t.not(name, instrument, 'positions have four digits of the year');
  const exercised = await run(['exercise', instrument.toLowerCase(), '--account', '2']);
  t.equal(exercised.code, EXIT_OK, exercised.err.join('\n'));
  t.match(exercised.out, [/^value [\d.]+, fee [\d.]+, transaction 0x[0-9a-f]{64}$/]);
  const settled = await run(['settle', name]);
  t.equal(settled.code, EXIT_OK, settled.err.join('\n'));
  t.match(settled.out, [/^collateral \d\.\d+, transaction 0x[0-9a-f]{64}$/]);
  const again = await run(['exercise', option, '--account', '2']);
  t.equal(again.code, EXIT_FAILED);
  t.match(again.err, [/holds no longs/]);
});
