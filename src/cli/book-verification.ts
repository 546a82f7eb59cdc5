import {
  type Address,
  BaseError,
  concat,
  ContractFunctionRevertedError,
  getAbiItem,
  hashTypedData,
  type Hex,
  keccak256,
  numberToHex,
  type PublicClient,
  recoverTypedDataAddress,
  zeroAddress,
} from 'viem';
import { orderbookStreamAbi, poolAbi } from '../chain/contracts/abi.js';
import { isExecutionError } from '../chain/rpc/rpc-errors.js';
import { QUOTE_TYPES } from '../client/sign-quote.js';
import { WITHDRAWAL_TYPES } from '../client/sign-withdrawal.js';
import type { BookProof } from '../wire/history.js';

export interface ProofChains {
  readonly settlement: PublicClient;
  readonly stream: PublicClient;
  /** First block of the stream chain whose quotes count. */
  readonly fromBlock: bigint;
  /** At least 1. */
  readonly blocksPerRequest: bigint;
}

export interface BookVerification {
  /** By the chains. */
  readonly hash: Hex;
  readonly quotes: number;
  /** Quotes that the chains show, and that the proof says to be withdrawn. */
  readonly withdrawn: number;
  /** Of those: quotes whose withdrawal their provider has not signed, as far as the proof shows. */
  readonly unsigned: readonly UnsignedWithdrawal[];
  /** In words: where the proof differs from the chains; none: it does not. */
  readonly problems: readonly string[];
}

export interface UnsignedWithdrawal {
  readonly quoteId: Hex;
  /** Null: the proof has nothing of the withdrawal. */
  readonly evidence: Exclude<Evidence['evidence'], 'SIGNATURE'> | null;
  readonly reason: Evidence['reason'] | null;
}

type Withdrawn = BookProof['withdrawn'][number];
type Evidence = NonNullable<Withdrawn['withdrawal']>;

/** The terms that a maker signed, as the chain's event has them. */
type Terms = Record<'provider' | 'taker', Address> &
  Record<'price' | 'size' | 'deadline' | 'salt', bigint> & {
    readonly isBuy: boolean;
    readonly signature: { readonly r: Hex; readonly s: Hex; readonly v: number };
  };

/** Computes the book from the chains as of the proof's blocks and time. Rejects where these cannot tell. */
export async function verifyBook(proof: BookProof, chains: ProofChains): Promise<BookVerification> {
  const { settlement, stream, poolKey } = proof;
  if (settlement === null || stream === null) throw new Error('the proof is of a time before the chains were read');
  if (poolKey === null) throw new Error(`no pool was deployed at ${proof.poolAddress} as of event ${proof.seq}`);
  if (settlement.logIndex !== null)
    throw new Error(
      `event ${proof.seq} is in the middle of block ${settlement.blockNumber}: verify as of the last event of a block`,
    );
  const problems = [
    ...(await sameBlock(chains.settlement, 'settlement', settlement)),
    ...(await sameBlock(chains.stream, 'stream', stream)),
    ...(await sameKey(chains.settlement, proof)),
  ];
  const published = await publishedQuotes(proof, chains);
  const withdrawnIds = new Set(proof.withdrawn.map(({ quote }) => quote.quoteId));
  const book = new Map<Hex, bigint>();
  const unsigned: UnsignedWithdrawal[] = [];
  let withdrawn = 0;
  for (const each of proof.withdrawn) {
    if (each.withdrawal?.evidence === 'SIGNATURE') problems.push(...(await wrongWithdrawal(proof, each)));
    else unsigned.push(unsignedOf(each));
  }
  for (const [quoteId, terms] of published) {
    const fillableSize = await fillable(chains.settlement, proof, quoteId, terms);
    if (withdrawnIds.has(quoteId)) withdrawn += 1;
    else if (fillableSize > 0n) book.set(quoteId, fillableSize);
  }
  // A reorg meanwhile would mix the states of two branches.
  problems.push(...(await sameBlock(chains.settlement, 'settlement', settlement)));
  for (const { quote } of [...proof.quotes, ...proof.invalid, ...proof.withdrawn]) {
    if (!published.has(quote.quoteId)) problems.push(`quote ${quote.quoteId} was not published for this pool`);
    if (idOf(proof, termsOf(quote)) !== quote.quoteId)
      problems.push(`quote ${quote.quoteId} has other terms than its id`);
  }
  const proven = new Map(proof.quotes.map(({ quote }) => [quote.quoteId, BigInt(quote.fillableSize)]));
  for (const quoteId of new Set([...book.keys(), ...proven.keys()])) {
    const [found, said] = [book.get(quoteId), proven.get(quoteId)];
    if (found === said) continue;
    problems.push(`quote ${quoteId}: the proof has ${said ?? 'none'} of it, the chains ${found ?? 'none'}`);
  }
  const hash = bookHash(book);
  if (hash !== proof.hash) problems.push(`the proof's hash is ${proof.hash}, by the chains it is ${hash}`);
  return { hash, quotes: book.size, withdrawn, unsigned, problems: [...new Set(problems)] };
}

function unsignedOf({ quote: { quoteId }, withdrawal }: Withdrawn): UnsignedWithdrawal {
  // A proof of an earlier version has no such field.
  if (withdrawal == null || withdrawal.evidence === 'SIGNATURE') return { quoteId, evidence: null, reason: null };
  return { quoteId, evidence: withdrawal.evidence, reason: withdrawal.reason };
}

/** Whether the provider signed that this quote is withdrawn, and in time; empty: it did. */
async function wrongWithdrawal(
  { chainId, seq }: BookProof,
  { quote: { quoteId, provider }, withdrawal }: Withdrawn,
): Promise<string[]> {
  const signed = withdrawal?.signed;
  if (withdrawal == null || signed == null)
    return [`quote ${quoteId}: the proof lacks the signature of its withdrawal`];
  const { quoteIds, nonce, deadline } = signed;
  const { r, s, v } = signed.signature;
  const message = { provider, quoteIds, nonce: BigInt(nonce), deadline: BigInt(deadline) };
  const domain = { name: 'Quotebook', version: '1', chainId: Number(chainId) };
  const data = { domain, types: WITHDRAWAL_TYPES, primaryType: 'WithdrawQuotes', message } as const;
  const signer = await recoverTypedDataAddress({ ...data, signature: { r, s, v: BigInt(v) } }).catch(() => null);
  const problems: string[] = [];
  if (signer?.toLowerCase() !== provider.toLowerCase()) problems.push('is not of its provider');
  if (!quoteIds.includes(quoteId)) problems.push('does not name it');
  if (Math.floor(withdrawal.tsMs / 1000) > deadline) problems.push('was past its deadline');
  if (withdrawal.seq > seq) problems.push('came later than the proof');
  return problems.map((problem) => `quote ${quoteId}: the signature of its withdrawal ${problem}`);
}

async function sameBlock(
  client: PublicClient,
  name: string,
  { blockNumber, blockHash }: NonNullable<BookProof['stream']>,
): Promise<string[]> {
  const { hash } = await client.getBlock({ blockNumber: BigInt(blockNumber) });
  if (hash === blockHash) return [];
  return [`block ${blockNumber} of the ${name} chain is ${hash}, the proof has ${blockHash}`];
}

/** The pool's own word for its key; a pool that is not deployed has none. */
async function sameKey(client: PublicClient, { poolAddress, poolKey, settlement }: BookProof): Promise<string[]> {
  const blockNumber = BigInt(settlement?.blockNumber ?? 0);
  const code = await client.getCode({ address: poolAddress, blockNumber });
  if (code === undefined || poolKey === null) return [];
  const found = await client.readContract({
    address: poolAddress,
    abi: poolAbi,
    functionName: 'getPoolSettings',
    blockNumber,
  });
  const { base, quote, oracleAdapter, strike, maturity, isCallPool } = poolKey;
  const said = [base, quote, oracleAdapter, strike, maturity, isCallPool];
  const isSame = found.map(String).join().toLowerCase() === said.map(String).join().toLowerCase();
  return isSame ? [] : [`the pool's key is ${found.map(String).join()}, the proof has ${said.map(String).join()}`];
}

/** Every public quote of the pool with a good signature that was published up to the stream's position, by its id. */
async function publishedQuotes(proof: BookProof, chains: ProofChains): Promise<Map<Hex, Terms>> {
  const found = new Map<Hex, Terms>();
  const last = BigInt(proof.stream?.blockNumber ?? 0);
  const event = getAbiItem({ abi: orderbookStreamAbi, name: 'PublishQuote' });
  for (let fromBlock = chains.fromBlock; fromBlock <= last; fromBlock += chains.blocksPerRequest) {
    const end = fromBlock + chains.blocksPerRequest - 1n;
    const toBlock = end < last ? end : last;
    const logs = await chains.stream.getLogs({
      address: proof.streamContract,
      event,
      fromBlock,
      toBlock,
      strict: true,
    });
    for (const { args, blockNumber, logIndex } of logs) {
      if (blockNumber === last && logIndex > (proof.stream?.logIndex ?? Infinity)) continue;
      if (args.taker !== zeroAddress || !isOfPool(args.poolKey, proof.poolKey)) continue;
      const { provider, taker, price, size, isBuy, deadline, salt, signature } = args;
      const terms = { provider, taker, price, size, isBuy, deadline, salt, signature };
      const quoteId = idOf(proof, terms);
      // Anyone may publish it again: the first good signature stays, as in the book.
      if (!found.has(quoteId) && (await isSigned(proof, terms))) found.set(quoteId, terms);
    }
  }
  return found;
}

type Key = Record<'base' | 'quote' | 'oracleAdapter', string> & { strike: bigint | string; maturity: bigint | number };

function isOfPool(
  given: Key & { readonly isCallPool: boolean },
  key: (Key & { readonly isCallPool: boolean }) | null,
): boolean {
  const words = (pool: Key & { readonly isCallPool: boolean }): string =>
    [pool.base, pool.quote, pool.oracleAdapter, pool.strike, pool.maturity, pool.isCallPool].map(String).join();
  return key !== null && words(given).toLowerCase() === words(key).toLowerCase();
}

/** The size that can be filled at the settlement chain's block and the engine's time; 0: nothing. */
async function fillable(client: PublicClient, proof: BookProof, quoteId: Hex, terms: Terms): Promise<bigint> {
  const nowSeconds = Math.floor(proof.tsMs / 1000);
  const { provider, deadline, size, signature } = terms;
  if (nowSeconds > deadline || nowSeconds >= (proof.poolKey?.maturity ?? 0)) return 0n;
  const at = { address: proof.poolAddress, abi: poolAbi, blockNumber: BigInt(proof.settlement?.blockNumber ?? 0) };
  const filled = await client.readContract({
    ...at,
    functionName: 'getQuoteOBFilledAmount',
    args: [provider, quoteId],
  });
  if (filled >= size) return 0n;
  const { taker, price, isBuy, salt } = terms;
  const signed = { provider, taker, price, size, isBuy, deadline, salt };
  const args = [ANYONE, signed, size - filled, signature] as const;
  const [isValid] = await client
    .readContract({ ...at, functionName: 'isQuoteOBValid', args })
    .catch((error: unknown) => {
      // A token that reverts lets no quote be filled.
      if (isRevert(error)) return [false];
      throw error;
    });
  return isValid ? size - filled : 0n;
}

/** Whether the called code broke, which is the chain's answer; anything else is a failure of its endpoint. */
function isRevert(error: unknown): boolean {
  if (!(error instanceof BaseError)) return false;
  if (isExecutionError(error.details)) return true;
  const reverted = error.walk((each) => each instanceof ContractFunctionRevertedError);
  // viem also makes one of a node's internal error (-32603).
  if (!(reverted instanceof ContractFunctionRevertedError)) return false;
  return reverted.raw !== undefined || /revert/i.test(error.details);
}

/** Anyone may fill a public quote. */
const ANYONE: Address = '0x000000000000000000000000000000000000dEaD';

function typedData({ chainId, poolAddress }: BookProof, terms: Terms) {
  const { provider, taker, price, size, isBuy, deadline, salt } = terms;
  const message = { provider, taker, price, size, isBuy, deadline, salt };
  const domain = { name: 'Premia', version: '1', chainId: Number(chainId), verifyingContract: poolAddress };
  return { domain, types: QUOTE_TYPES, primaryType: 'FillQuoteOB', message } as const;
}

function idOf(proof: BookProof, terms: Terms): Hex {
  return hashTypedData(typedData(proof, terms));
}

/** Half of the order of secp256k1 (SEC 2, 2.4.1), rounded down. */
const HALF_ORDER = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n;

/** As the pools and the service check it: viem takes other values of `v`, and an `s` in the upper half (EIP-2). */
async function isSigned(proof: BookProof, terms: Terms): Promise<boolean> {
  const { r, s, v } = terms.signature;
  if ((v !== 27 && v !== 28) || BigInt(s) > HALF_ORDER) return false;
  try {
    const signer = await recoverTypedDataAddress({ ...typedData(proof, terms), signature: { r, s, v: BigInt(v) } });
    return signer.toLowerCase() === terms.provider.toLowerCase();
  } catch {
    return false;
  }
}

function termsOf(quote: BookProof['quotes'][number]['quote']): Terms {
  const { provider, taker, price, size, isBuy, deadline, salt, signature } = quote;
  const numbers = { price: BigInt(price), size: BigInt(size), deadline: BigInt(deadline), salt: BigInt(salt) };
  return { provider, taker, isBuy, signature, ...numbers };
}

/** docs/reference/api.md, "Book hash". */
function bookHash(book: ReadonlyMap<Hex, bigint>): Hex {
  const word = (value: bigint): Hex => numberToHex(value, { size: 32 });
  let sum = 0n;
  for (const [quoteId, fillableSize] of book) sum += BigInt(keccak256(concat([quoteId, word(fillableSize)])));
  return word(sum % 2n ** 256n);
}
