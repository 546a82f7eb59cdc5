import type { Hex } from 'viem';
import type { PrivateKeyAccount } from 'viem/accounts';
import { ApiError } from '../client/errors.js';
import { ZERO_ADDRESS } from '../engine/quote.js';
import { NotEnoughMeansError } from '../client/trading/errors.js';
import { FillInterruptedError, type FillProgress } from '../client/trading/fill-outcome.js';
import type { Trader } from '../client/trading/trader.js';
import type { Transaction } from '../client/trading/transactions.js';
import { systemClock } from '../system/clock.js';
import { pause } from '../system/timers.js';
import type { InstrumentJson } from '../wire/options.js';
import type { OrderbookQuote } from '../wire/orderbook.js';
import { formatDecimal, parseDecimal } from '../wire/primitives.js';
import { type CliCommand, columns, type CommandIo, EXIT_FAILED, EXIT_OK, UsageError } from './run.js';
import {
  DECIMALS,
  decimalText,
  findInstrument,
  instrumentName,
  isAddress,
  liveInTime,
  refusalText,
  type TerminalSession,
  terminalCommand,
  withdrawnOf,
} from './terminal.js';

const KEY_VARIABLE = 'QUOTEBOOK_TRADER_KEY';
const USDC_DECIMALS = 6;

const ACCOUNT_FLAGS = {
  account:
    'Number of an account of the ready file, in a local set-up. Default without a key: 1, the first that is not the operator.',
  'key-file': `File with the account's private key in hex. Default without --account: the variable ${KEY_VARIABLE}.`,
};
const CHAIN_FLAGS = {
  'rpc-url': 'JSON-RPC endpoint of the settlement chain. Default: that of --ready.',
  router: "The protocol's ERC20Router. Default: that of --ready, or of the chain.",
};

const SIGN_IN_FLAGS = {
  'sign-in-domain':
    'Host to sign in at, one of the setting signInDomains of the service. Default: the host of the URL, with its port.',
};

/** The key is never an argument: others see those in the list of processes. */
async function accountOf({ target, values, io }: TerminalSession): Promise<PrivateKeyAccount> {
  // Slow to load, so only by the commands that sign.
  const { privateKeyToAccount } = await import('viem/accounts');
  const [file, number] = [values.get('key-file'), values.get('account')];
  if (file !== undefined && number !== undefined) throw new UsageError('name one account: --account or --key-file');
  const exported = number === undefined ? io.environment[KEY_VARIABLE] : undefined;
  const text = file === undefined ? exported : await io.readText(file);
  if (text !== undefined) {
    const digits = text.trim().replace(/^0x/, '');
    if (!/^[0-9a-fA-F]{64}$/.test(digits)) throw new UsageError('the private key is not 32 bytes in hex');
    return privateKeyToAccount(`0x${digits}`);
  }
  const accounts = target.ready.accounts as readonly { readonly privateKey: Hex }[] | undefined;
  if (accounts === undefined) throw new UsageError(`name the account's key with --key-file or ${KEY_VARIABLE}`);
  const account = accounts[Number(number ?? 1)];
  if (account === undefined) throw new UsageError(`--account is a number from 0 to ${accounts.length - 1}`);
  return privateKeyToAccount(account.privateKey);
}

/**
 * Signs in where the service shows what is private to those alone that it concerns, and the key has not proven the
 * account. True: it signed in.
 */
async function proveAccount(session: TerminalSession, account: PrivateKeyAccount): Promise<boolean> {
  const taker = account.address;
  try {
    // No pool has that address: the answer is an empty list, or the refusal.
    await session.client.rest.rfqQuotes({ poolAddress: ZERO_ADDRESS, side: 'ask', taker });
    return false;
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'taker_not_proven') throw error;
    await signIn(session, account);
    return true;
  }
}

/** As `proveAccount`, for what can be done without: says so where the service refuses the sign-in. */
async function tryToProve(session: TerminalSession, account: PrivateKeyAccount): Promise<boolean> {
  try {
    return await proveAccount(session, account);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    session.io.err(`Private quotes may be left out: ${refusalText(error, session.target)}`);
    return false;
  }
}

async function signIn({ client, values }: TerminalSession, account: PrivateKeyAccount): Promise<void> {
  const domain = values.get('sign-in-domain');
  await client.signIn({ account, ...(domain !== undefined && { domain }) });
}

async function traderOf(session: TerminalSession, account?: PrivateKeyAccount): Promise<Trader> {
  const { client, target, values } = session;
  account ??= await accountOf(session);
  const { createWalletClient, defineChain, http } = await import('viem');
  const { ERC20_ROUTERS, Trader: TraderOfWallet } = await import('../client/trading/exports.js');
  const { rpcUrl, contracts } = target.ready as { rpcUrl?: string; contracts?: { erc20Router?: string } };
  const url = values.get('rpc-url') ?? rpcUrl;
  if (url === undefined) throw new UsageError('name an endpoint of the settlement chain with --rpc-url');
  const known: Readonly<Record<string, string>> = ERC20_ROUTERS;
  const router = values.get('router') ?? contracts?.erc20Router ?? known[target.chainId];
  if (router === undefined || !isAddress(router)) throw new UsageError("name the protocol's router with --router");
  const chain = defineChain({
    id: Number(target.chainId),
    name: target.chainId,
    nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: DECIMALS },
    rpcUrls: { default: { http: [url] } },
  });
  const wallet = createWalletClient({ account, chain, transport: http(url) });
  return new TraderOfWallet({ client, wallet, erc20Router: router });
}

/** Above 0, in 1e-18. `what` names it where it is wrong. */
function readAmountAbove0(text: string | undefined, what: string): bigint {
  const value = readDecimal(text, what, DECIMALS);
  if (value === 0n) throw new UsageError(`${what} is above 0`);
  return value;
}

/** In units of 10^-`decimals`. */
function readDecimal(text: string | undefined, what: string, decimals: number): bigint {
  const value = text !== undefined && /^[0-9]{1,20}(\.[0-9]+)?$/.test(text) && parseDecimal(text, decimals);
  if (typeof value === 'bigint') return value;
  throw new UsageError(`${what} is a decimal number with at most ${decimals} digits after the point, such as 0.05`);
}

function positionalsOf(session: TerminalSession, count: number, usage: string): readonly string[] {
  if (session.positionals.length !== count) throw new UsageError(`say \`${usage}\``);
  return session.positionals;
}

function readSeconds({ values }: TerminalSession, flag: string, otherwise: number): number {
  const text = values.get(flag) ?? String(otherwise);
  if (!/^[1-9][0-9]{0,8}$/.test(text)) throw new UsageError(`--${flag} is a whole number of seconds above 0`);
  return Number(text);
}

/** The book's side that a taker meets. */
function sideFor(direction: string | undefined): 'ask' | 'bid' {
  if (direction === 'buy') return 'ask';
  if (direction === 'sell') return 'bid';
  throw new UsageError('say whether to buy or to sell');
}

const QUOTE_USAGE = 'quotebook quote OPTION bid|ask PRICE SIZE';

const quoteCommand = terminalCommand(
  'quote',
  'sign a quote and publish it',
  {
    usage: `${QUOTE_USAGE} [--expires-in SECONDS] [--taker ADDRESS] [--dry-run] [FLAGS]`,
    more: {
      'expires-in': 'Seconds until the deadline. Default: 3600.',
      taker: 'The only account that may fill it. Default: anyone.',
      'dry-run': 'Have the service check the quote, and publish nothing.',
      ...ACCOUNT_FLAGS,
    },
    switches: ['dry-run'],
    about: 'PRICE is in base tokens for a call, in quote tokens per unit of strike for a put; SIZE in contracts.',
  },
  async (session) => {
    const { client, isJson, values, io } = session;
    const [name = '', side, priceText, sizeText] = positionalsOf(session, 4, QUOTE_USAGE);
    if (side !== 'bid' && side !== 'ask') throw new UsageError('the side is bid or ask');
    const [price, size] = [readAmountAbove0(priceText, 'PRICE'), readAmountAbove0(sizeText, 'SIZE')];
    const taker = values.get('taker') ?? ZERO_ADDRESS;
    if (!isAddress(taker)) throw new UsageError('--taker is an address');
    const deadline = Math.floor(systemClock.wallMs() / 1000) + readSeconds(session, 'expires-in', 3600);
    const account = await accountOf(session);
    const pool = await findInstrument(client, name);
    const { posted, quoteId } = await client.signQuote(account, pool, { side, price, size, taker, deadline });
    if (session.switches.has('dry-run')) {
      const { quotes } = await client.rest.checkQuotes([posted]);
      const [checked] = quotes;
      if (checked === undefined) throw new Error('The service says nothing about the quote');
      const { outcome, reasons } = checked;
      if (isJson) io.out(JSON.stringify(checked));
      else if (outcome !== 'failed')
        io.out(`${quoteId} ${outcome === 'exists' ? 'was published before' : 'would be published'}`);
      else showRefusal(io, 'would be', reasons, pool, { side, price, size });
      return outcome === 'failed' ? EXIT_FAILED : EXIT_OK;
    }
    const result = await client.rest.postQuotes([posted]);
    const [failed] = result.failed;
    if (isJson) io.out(JSON.stringify({ quoteId, ...result }));
    else if (failed === undefined)
      io.out(`${quoteId} ${result.exists.length > 0 ? 'was published before' : 'is live'}`);
    else showRefusal(io, 'was', [failed.reason], pool, { side, price, size });
    return failed === undefined ? EXIT_OK : EXIT_FAILED;
  },
);

interface QuotedTerms {
  readonly side: 'bid' | 'ask';
  /** 1e-18, as the size. */
  readonly price: bigint;
  readonly size: bigint;
}

function showRefusal(
  io: CommandIo,
  verb: 'was' | 'would be',
  reasons: readonly string[],
  pool: InstrumentJson,
  terms: QuotedTerms,
): void {
  io.err(`The quote ${verb} refused: ${reasons.join(', ')}`);
  const needed = neededText(pool, terms);
  const approval = `\`quotebook approve ${pool.instrument} ${needed}\``;
  const what = `the ${needed} ${collateralName(pool)} that the quote needs`;
  const remedies: Readonly<Record<string, string>> = {
    InsufficientCollateralAllowance: `The router may not move ${what}: ${approval} lets it.`,
    InsufficientCollateralBalance: `The account has less than ${what}.`,
    OutOfBoundsPrice: 'PRICE is at most 1: no contract is worth more.',
  };
  for (const reason of reasons) if (reason in remedies) io.err(remedies[reason] ?? '');
}

/** Collateral tokens that the maker pays if all is filled, rounded up to the digits of USDC. */
function neededText({ poolKey }: InstrumentJson, { side, price, size }: QuotedTerms): string {
  const one = 10n ** BigInt(DECIMALS);
  const premium = (price * size) / one;
  const contracts = side === 'bid' ? premium : size - premium;
  const needed = poolKey.isCallPool ? contracts : (contracts * BigInt(poolKey.strike)) / one;
  const unit = 10n ** BigInt(DECIMALS - USDC_DECIMALS);
  return formatDecimal((needed + unit - 1n) / unit, USDC_DECIMALS);
}

const RFQ_USAGE = 'quotebook rfq OPTION buy|sell SIZE';

const rfqCommand = terminalCommand(
  'rfq',
  'ask makers for quotes, and show those that cover the size',
  {
    usage: `${RFQ_USAGE} [--wait SECONDS] [FLAGS]`,
    more: { wait: 'How long makers may answer. Default: 5.', ...ACCOUNT_FLAGS, ...SIGN_IN_FLAGS },
    about: 'Shows private answers beside the public book, best price first. `quotebook fill` takes them.',
  },
  async (session) => {
    const { client, isJson, io } = session;
    const [name = '', direction, sizeText] = positionalsOf(session, 3, RFQ_USAGE);
    const [side, size] = [sideFor(direction), readAmountAbove0(sizeText, 'SIZE')];
    const waitMs = readSeconds(session, 'wait', 5) * 1000;
    const account = await accountOf(session);
    const taker = account.address;
    await proveAccount(session, account);
    const { poolAddress } = await findInstrument(client, name);
    const quotes = client.followQuotes({ poolAddress, side, taker });
    await liveInTime(quotes.whenLive());
    await client.requestQuotes({ poolAddress, side, size, taker });
    await pause(systemClock, waitMs);
    const found = await client.rest.quotes({ poolAddress, side, size: size.toString(), taker });
    if (isJson) for (const quote of found) io.out(JSON.stringify(quote));
    else {
      const rows = found.map(({ price, fillableSize, provider, taker: for_, quoteId }) => [
        formatDecimal(BigInt(price), DECIMALS),
        formatDecimal(BigInt(fillableSize), DECIMALS),
        for_ === ZERO_ADDRESS ? 'public' : 'private',
        provider,
        quoteId,
      ]);
      for (const line of columns([['price', 'size', 'kind', 'provider', 'quote'], ...rows], 'right')) io.out(line);
    }
    const covered = found.reduce((sum, { fillableSize }) => sum + BigInt(fillableSize), 0n);
    if (covered < size) io.err(`The quotes cover ${formatDecimal(covered, DECIMALS)} of ${sizeText}.`);
    return covered < size ? EXIT_FAILED : EXIT_OK;
  },
);

const FILL_USAGE = 'quotebook fill OPTION buy|sell SIZE --limit PRICE';

const fillCommand = terminalCommand(
  'fill',
  'buy or sell a size within a limit',
  {
    usage: `${FILL_USAGE} [--approve] [--dry-run] [FLAGS]`,
    more: {
      limit: 'The worst price to accept, without the fee. It has no default.',
      approve: 'Let the router move as much collateral as the fill needs, if it may not yet.',
      'dry-run': 'Show what it would cost, and send nothing.',
      ...ACCOUNT_FLAGS,
      ...SIGN_IN_FLAGS,
      ...CHAIN_FLAGS,
    },
    switches: ['approve', 'dry-run'],
    about:
      'Fills the best quotes one after the other, with a transaction each. Exits with 1 if the size was not filled.',
  },
  async (session) => {
    const { client, isJson, values, io } = session;
    const [name = '', direction, sizeText] = positionalsOf(session, 3, FILL_USAGE);
    const [side, size] = [sideFor(direction), readAmountAbove0(sizeText, 'SIZE')];
    const limitPrice = readAmountAbove0(values.get('limit'), '--limit');
    const account = await accountOf(session);
    const trader = await traderOf(session, account);
    await proveAccount(session, account);
    const pool = await findInstrument(client, name);
    const plan = await trader.plan(pool, { side, size, limitPrice });
    if (session.switches.has('dry-run')) {
      const { fills, covered, shortfall, premium, fee, neededBalance } = plan;
      const planned = fills.map(({ quote, size: part }) => ({
        quoteId: quote.quoteId,
        price: quote.price,
        size: part,
      }));
      const terms = { covered, shortfall, premium, fee, neededBalance, fills: planned };
      if (isJson) io.out(JSON.stringify(terms, decimalText));
      else io.out(costOf(covered, premium, fee));
      const lack = fills.length === 0 ? NONE_WITHIN_LIMIT : 'the quotes within the limit are too few';
      if (shortfall > 0n && !isJson) io.err(`${formatDecimal(shortfall, DECIMALS)} is not covered: ${lack}.`);
      return shortfall === 0n ? EXIT_OK : EXIT_FAILED;
    }
    if (session.switches.has('approve') && plan.allowance < plan.neededAllowance)
      await trader.approve(pool, plan.neededAllowance);
    const ready = session.switches.has('approve') ? await trader.plan(pool, { side, size, limitPrice }) : plan;
    const result = await trader.fill(ready).catch((error: unknown) => {
      if (error instanceof FillInterruptedError) {
        const { fills, failed, filled, shortfall, pending } = error;
        showFills(session, { fills, failed, filled, shortfall, pending });
      }
      throw error instanceof NotEnoughMeansError ? new Error(missingMeans(error, pool, ready.decimals)) : error;
    });
    showFills(session, result);
    if (!isJson) for (const hash of result.notShown) io.err(`The service does not show the transaction ${hash} yet.`);
    return result.shortfall === 0n ? EXIT_OK : EXIT_FAILED;
  },
);

function showFills({ isJson, io }: TerminalSession, progress: FillProgress & { readonly pending?: Hex | null }): void {
  if (isJson) {
    io.out(JSON.stringify(progress, decimalText));
    return;
  }
  for (const fill of progress.fills) io.out(`${costOf(fill.size, fill.premium, fill.fee)}, transaction ${fill.hash}`);
  for (const { quoteId, reason } of progress.failed) io.err(`${quoteId} was not filled: ${reason}`);
  if (progress.shortfall === 0n) return;
  const isNone = progress.fills.length + progress.failed.length === 0;
  io.err(`${formatDecimal(progress.shortfall, DECIMALS)} is not filled${isNone ? `: ${NONE_WITHIN_LIMIT}` : ''}.`);
}

const NONE_WITHIN_LIMIT = 'no quote of others is within the limit';

function missingMeans(means: NotEnoughMeansError, pool: InstrumentJson, decimals: number): string {
  const { needed, balance, allowance } = means;
  const [has, moves, needs] = [balance, allowance, needed].map((units) => formatDecimal(units, decimals));
  const what = `${needs} ${collateralName(pool)} that the fill needs`;
  return balance < needed
    ? `The account has ${has} of the ${what}.`
    : `The router may move ${moves} of the ${what}: --approve lets it.`;
}

/** The symbol of the collateral token, or the address of one without a symbol. */
function collateralName({ instrument, poolKey }: InstrumentJson): string {
  const [base = '', quote = ''] = instrument.split('-');
  return poolKey.isCallPool ? base : quote;
}

function costOf(size: bigint, premium: bigint, fee: bigint): string {
  const [contracts, paid, charged] = [size, premium, fee].map((value) => formatDecimal(value, DECIMALS));
  return `${contracts} contracts, premium ${paid}, fee ${charged}`;
}

const APPROVE_USAGE = 'quotebook approve OPTION AMOUNT';

const approveCommand = terminalCommand(
  'approve',
  "let the protocol's router move collateral of an account",
  {
    usage: `${APPROVE_USAGE} [FLAGS]`,
    more: { ...ACCOUNT_FLAGS, ...CHAIN_FLAGS },
    about:
      "AMOUNT is in tokens: base tokens for a call, quote tokens for a put. It is the router's allowance for all options with that token, and replaces the one before; 0 ends it. Sends a transaction.",
  },
  async (session) => {
    const { client, isJson, io } = session;
    const [name = '', text] = positionalsOf(session, 2, APPROVE_USAGE);
    const trader = await traderOf(session);
    const pool = await findInstrument(client, name);
    const { decimals } = await trader.collateral(pool);
    const result = await trader.approve(pool, readDecimal(text, 'AMOUNT', decimals));
    const said = `the router may move ${text} ${collateralName(pool)}, transaction ${result.hash}`;
    io.out(isJson ? JSON.stringify(result, decimalText) : said);
    return EXIT_OK;
  },
);

const cancelCommand = terminalCommand(
  'cancel',
  'cancel own quotes on the chain',
  {
    usage: 'quotebook cancel QUOTE_ID... [FLAGS]\nquotebook cancel --all [OPTION] [FLAGS]',
    more: {
      all: 'All quotes of the account, or those for one option.',
      ...ACCOUNT_FLAGS,
      ...SIGN_IN_FLAGS,
      ...CHAIN_FLAGS,
    },
    switches: ['all'],
    about:
      'Sends a transaction for each pool. No one can fill a quote once its cancellation is mined. Withdrawn quotes are cancelled, too. Where privacy is proven, the account signs in to find private quotes.',
  },
  async (session) => {
    const { isJson, io } = session;
    const account = await accountOf(session);
    const trader = await traderOf(session, account);
    const quotes = await (session.switches.has('all') ? allOwn(session, account) : namedOwn(session, account));
    const transactions = await trader.cancel(quotes);
    if (isJson) io.out(JSON.stringify(transactions, decimalText));
    else for (const { hash } of transactions) io.out(`transaction ${hash}`);
    if (transactions.length === 0) io.err(`${trader.address} has no quotes to cancel.`);
    return EXIT_OK;
  },
);

/** Scope of --all: the pool of the option that is named, or every pool. */
async function ofOption({
  client,
  positionals: [option, extra],
}: TerminalSession): Promise<{ readonly poolAddress?: Hex }> {
  if (extra !== undefined) throw new UsageError('--all takes one option');
  if (option === undefined) return {};
  const { poolAddress } = await findInstrument(client, option);
  return { poolAddress };
}

async function allOwn(session: TerminalSession, account: PrivateKeyAccount): Promise<OrderbookQuote[]> {
  const { client } = session;
  const filter = await ofOption(session);
  await tryToProve(session, account);
  const { validQuotes, invalidQuotes } = await client.rest.ordersOf(account.address, filter);
  const withdrawn = await withdrawnOf(client, { provider: account.address, ...filter });
  return [...validQuotes, ...invalidQuotes.map(({ quote }) => quote), ...withdrawn];
}

async function namedOwn(session: TerminalSession, account: PrivateKeyAccount): Promise<OrderbookQuote[]> {
  const wanted = new Set(session.positionals.map((id) => id.toLowerCase()));
  if (wanted.size === 0) throw new UsageError('name quotes by their ids, or say --all');
  const found = await takeOwn(session, account.address, wanted);
  if (wanted.size > 0 && (await tryToProve(session, account)))
    found.push(...(await takeOwn(session, account.address, wanted)));
  const [missing] = wanted;
  if (missing !== undefined)
    throw new UsageError(`the service shows this key no quote ${missing} of ${account.address}`);
  return found;
}

/** The wanted quotes of the provider that the service shows, withdrawn ones too; their ids leave `wanted`. */
async function takeOwn({ client }: TerminalSession, address: Hex, wanted: Set<string>): Promise<OrderbookQuote[]> {
  const provider = address.toLowerCase();
  // By their ids and without the provider, which would leave private quotes out.
  const { validQuotes, invalidQuotes } = await client.rest.orders({ quoteIds: [...wanted] as Hex[] });
  const own = [...validQuotes, ...invalidQuotes.map(({ quote }) => quote)].filter((each) => each.provider === provider);
  const found = own.filter(({ quoteId }) => wanted.delete(quoteId));
  if (wanted.size === 0) return found;
  const withdrawn = await withdrawnOf(client, { provider: address });
  return [...found, ...withdrawn.filter(({ quoteId }) => wanted.delete(quoteId))];
}

/** Of a withdrawal that is sent at once. */
const SIGNED_FOR_SECONDS = 300;

const withdrawCommand = terminalCommand(
  'withdraw',
  'hide own quotes without gas, or show them again',
  {
    usage:
      'quotebook withdraw QUOTE_ID... [FLAGS]\nquotebook withdraw --all [OPTION] [FLAGS]\nquotebook withdraw --restore QUOTE_ID... [FLAGS]',
    more: {
      all: 'All quotes of the account, or those for one option: the account signs in.',
      restore: 'Show these quotes again.',
      ...ACCOUNT_FLAGS,
      ...SIGN_IN_FLAGS,
    },
    switches: ['all', 'restore'],
    about:
      'The account signs it, and no transaction is sent. A withdrawn quote can still be filled on the chain: `quotebook cancel` ends that.',
  },
  async (session) => {
    const { isJson, io, switches } = session;
    const isRestored = switches.has('restore');
    if (isRestored && switches.has('all')) throw new UsageError('--restore takes quotes by their ids');
    const account = await accountOf(session);
    const { changed, unknown } = switches.has('all')
      ? await withdrawAll(session, account)
      : await signedChange(session, account, isRestored);
    if (isJson) io.out(JSON.stringify(changed));
    else for (const quoteId of changed) io.out(`${quoteId} is ${isRestored ? 'shown again' : 'withdrawn'}`);
    for (const quoteId of unknown) io.err(`The book has no quote ${quoteId} of ${account.address}.`);
    if (changed.length === 0 && unknown.length === 0) io.err('Nothing is left to change.');
    return unknown.length === 0 ? EXIT_OK : EXIT_FAILED;
  },
);

interface ChangedQuotes {
  readonly changed: readonly string[];
  readonly unknown: readonly string[];
}

async function withdrawAll(session: TerminalSession, account: PrivateKeyAccount): Promise<ChangedQuotes> {
  const filter = await ofOption(session);
  await signIn(session, account);
  return { changed: await session.client.rest.withdrawAllQuotes(account.address, filter), unknown: [] };
}

async function signedChange(
  { client, target, positionals }: TerminalSession,
  account: PrivateKeyAccount,
  isRestored: boolean,
): Promise<ChangedQuotes> {
  const quoteIds = [...new Set(positionals.map((id) => id.toLowerCase() as Hex))];
  if (quoteIds.length === 0) throw new UsageError('name quotes by their ids, or say --all');
  if (quoteIds.some((id) => !/^0x[0-9a-f]{64}$/.test(id))) throw new UsageError('an id of a quote is 32 bytes in hex');
  const { signRestore, signWithdrawal } = await import('../client/sign-withdrawal.js');
  const nowMs = systemClock.wallMs();
  const terms = { quoteIds, nonce: BigInt(nowMs), deadline: Math.floor(nowMs / 1000) + SIGNED_FOR_SECONDS };
  if (isRestored) {
    const { restored, unknown } = await client.rest.restoreQuotes(await signRestore(account, target.chainId, terms));
    return { changed: restored, unknown };
  }
  const { withdrawn, unknown } = await client.rest.withdrawQuotes(await signWithdrawal(account, target.chainId, terms));
  return { changed: withdrawn, unknown };
}

/** `exposure`: of the positions that it closes. `close` resolves to what it tells people, and to its JSON. */
function closingCommand(
  name: 'exercise' | 'settle',
  exposure: 'LONG' | 'SHORT',
  summary: string,
  close: (trader: Trader, poolAddress: Hex) => Promise<{ readonly text: string; readonly result: Transaction }>,
): CliCommand {
  const usage = `quotebook ${name} POOL`;
  return terminalCommand(
    name,
    summary,
    {
      usage: `${usage} [FLAGS]`,
      more: { ...ACCOUNT_FLAGS, ...CHAIN_FLAGS },
      about:
        'POOL is an address, or the name of an expired option, with two digits of the year or with four. Sends a transaction.',
    },
    async (session) => {
      const { isJson, io } = session;
      const [pool = ''] = positionalsOf(session, 1, usage);
      const trader = await traderOf(session);
      const poolAddress = isAddress(pool) ? pool : await expiredPool(session, trader.address, pool, exposure);
      const { text, result } = await close(trader, poolAddress);
      io.out(isJson ? JSON.stringify(result, decimalText) : `${text}, transaction ${result.hash}`);
      return EXIT_OK;
    },
  );
}

async function expiredPool(
  { client }: TerminalSession,
  holder: Hex,
  name: string,
  exposure: 'LONG' | 'SHORT',
): Promise<Hex> {
  const { expired } = await client.rest.optionBalances(holder);
  const wanted = name.toUpperCase();
  const [found, another] = expired.filter((position) => {
    const names = [position.name, instrumentName(position.name)].map((each) => each.toUpperCase());
    return position.exposure === exposure && names.includes(wanted);
  });
  if (found === undefined) throw new UsageError(`${holder} has no expired ${exposure.toLowerCase()} position ${name}`);
  if (another !== undefined) throw new UsageError(`several pools have the name ${name}: name one by its address`);
  return found.token_address;
}

const exerciseCommand = closingCommand(
  'exercise',
  'LONG',
  "pay out an account's longs of an expired option",
  async (trader, poolAddress) => {
    const result = await trader.exercise({ poolAddress });
    const [value, fee] = [result.value, result.fee].map((amountOf) => formatDecimal(amountOf, DECIMALS));
    return { text: `value ${value}, fee ${fee}`, result };
  },
);

const settleCommand = closingCommand(
  'settle',
  'SHORT',
  "pay out the collateral of an account's shorts of an expired option",
  async (trader, poolAddress) => {
    const result = await trader.settle({ poolAddress });
    return { text: `collateral ${formatDecimal(result.collateral, result.decimals)}`, result };
  },
);

/** The commands that sign, in the order of the overview. */
export const tradeCommands: readonly CliCommand[] = [
  quoteCommand,
  rfqCommand,
  approveCommand,
  fillCommand,
  withdrawCommand,
  cancelCommand,
  exerciseCommand,
  settleCommand,
];
