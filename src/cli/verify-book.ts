import {
  type Address,
  concat,
  createPublicClient,
  getAbiItem,
  hashTypedData,
  type Hex,
  http,
  keccak256,
  numberToHex,
  type PublicClient,
  recoverTypedDataAddress,
  zeroAddress,
} from 'viem';
import { orderbookStreamAbi, poolAbi } from '../chain/contracts/abi.js';
import { OrderbookClient } from '../client/node.js';
import type { BookProof } from '../wire/proof.js';
import { parseFlags } from './flags.js';
import { type CliCommand, EXIT_FAILED, EXIT_OK, UsageError } from './run.js';
import { CONNECTION_FLAGS, connectionHelp, targetOf } from './terminal.js';

const help = `quotebook verify-book --pool ADDRESS --seq N --rpc URL [--stream-rpc URL] [--proof FILE]

Computes the hash of a pool's public book from the chains alone, and compares it with the service's proof of it
(GET /book/{pool}/proof). Exits with 1 where anything differs. The node has to be an archive node: contracts are read at
the proof's block.

  --pool
      Address of the pool.
  --seq
      Event of the log that the book is as of: the last one of its block.
  --rpc
      Node of the settlement chain.
  --stream-rpc
      Node of the stream chain. Default: --rpc.
  --from-block
      First block of the stream chain whose quotes count. Default: 0.
  --blocks-per-request
      Blocks whose logs are asked for at once. Default: 10000.
  --proof
      File with the proof; without it the service is asked.
${connectionHelp}`;

export const verifyBookCommand: CliCommand = {
  name: 'verify-book',
  summary: "compute a book's hash from the chains, and compare",
  help,
  async run(words, io) {
    const own = ['pool', 'seq', 'rpc', 'stream-rpc', 'from-block', 'blocks-per-request', 'proof'];
    const parsed = parseFlags(words, {
      ...CONNECTION_FLAGS,
      ...Object.fromEntries(own.map((name) => [name, 'value'])),
    });
    const { values } = parsed;
    const [pool, seq, rpc, file] = ['pool', 'seq', 'rpc', 'proof'].map((name) => values.get(name));
    if (rpc === undefined) throw new UsageError('name a node with --rpc');
    if (pool === undefined || !/^0x[0-9a-fA-F]{40}$/.test(pool)) throw new UsageError('--pool is an address');
    if (seq === undefined || !/^[0-9]{1,15}$/.test(seq)) throw new UsageError('--seq is the number of an event');
    const count = (name: string, usual: string): bigint => {
      const text = values.get(name) ?? usual;
      if (!/^[0-9]{1,15}$/.test(text)) throw new UsageError(`--${name} is a number of blocks`);
      return BigInt(text);
    };
    const chains = {
      settlement: createPublicClient({ transport: http(rpc) }),
      stream: createPublicClient({ transport: http(values.get('stream-rpc') ?? rpc) }),
      fromBlock: count('from-block', '0'),
      blocksPerRequest: count('blocks-per-request', '10000'),
    };
    let proof: BookProof;
    if (file === undefined) {
      const client = new OrderbookClient(await targetOf(parsed, io));
      try {
        proof = await client.rest.bookProof(pool as Hex, seq);
      } finally {
        client.close();
      }
    } else proof = JSON.parse(await io.readText(file)) as BookProof;
    if (proof.poolAddress !== pool.toLowerCase()) throw new UsageError(`the proof is of pool ${proof.poolAddress}`);
    if (proof.seq < Number(seq)) throw new UsageError(`the proof is as of event ${proof.seq}`);
    const { hash, quotes, withdrawn, problems } = await verifyBook(proof, chains);
    io.out(`event ${proof.seq}`);
    io.out(`hash ${hash}`);
    io.out(`quotes ${quotes}`);
    io.out(`withdrawn ${withdrawn}`);
    for (const problem of problems) io.err(problem);
    io.out(problems.length === 0 ? 'the chains confirm the proof' : 'the chains do not confirm the proof');
    return problems.length === 0 ? EXIT_OK : EXIT_FAILED;
  },
};

export interface ProofChains {
  readonly settlement: PublicClient;
  readonly stream: PublicClient;
  /** First block of the stream chain whose quotes count. */
  readonly fromBlock: bigint;
  readonly blocksPerRequest: bigint;
}

export interface BookVerification {
  /** By the chains. */
  readonly hash: Hex;
  readonly quotes: number;
  /** Quotes that the chains show, and that the proof says to be withdrawn. */
  readonly withdrawn: number;
  /** In words: where the proof differs from the chains; none: it does not. */
  readonly problems: readonly string[];
}

/** What a maker signed, as the chain's event has it. */
type Terms = Record<'provider' | 'taker', Address> &
  Record<'price' | 'size' | 'deadline' | 'salt', bigint> & {
    readonly isBuy: boolean;
    readonly signature: { readonly r: Hex; readonly s: Hex; readonly v: number };
  };

/** Computes the book from the chains as of the proof's blocks and time. Rejects where these cannot tell. */
export async function verifyBook(proof: BookProof, chains: ProofChains): Promise<BookVerification> {
  const { settlement, stream, poolKey } = proof;
  if (settlement === null || stream === null || poolKey === null)
    throw new Error('the proof is of a time before the chains were read');
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
  let withdrawn = 0;
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
  return { hash, quotes: book.size, withdrawn, problems: [...new Set(problems)] };
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
      if (await isSigned(proof, terms)) found.set(idOf(proof, terms), terms);
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

/** What can be filled of it at the settlement chain's block and the engine's time; 0: nothing. */
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
  // A token that reverts lets no quote be filled.
  const [isValid] = await client.readContract({ ...at, functionName: 'isQuoteOBValid', args }).catch(() => [false]);
  return isValid ? size - filled : 0n;
}

/** Anyone may fill a public quote. */
const ANYONE: Address = '0x000000000000000000000000000000000000dEaD';

const TYPES = {
  FillQuoteOB: [
    { name: 'provider', type: 'address' },
    { name: 'taker', type: 'address' },
    { name: 'price', type: 'uint256' },
    { name: 'size', type: 'uint256' },
    { name: 'isBuy', type: 'bool' },
    { name: 'deadline', type: 'uint256' },
    { name: 'salt', type: 'uint256' },
  ],
} as const;

function typedData({ chainId, poolAddress }: BookProof, terms: Terms) {
  const { provider, taker, price, size, isBuy, deadline, salt } = terms;
  const message = { provider, taker, price, size, isBuy, deadline, salt };
  const domain = { name: 'Premia', version: '1', chainId: Number(chainId), verifyingContract: poolAddress };
  return { domain, types: TYPES, primaryType: 'FillQuoteOB', message } as const;
}

function idOf(proof: BookProof, terms: Terms): Hex {
  return hashTypedData(typedData(proof, terms));
}

async function isSigned(proof: BookProof, terms: Terms): Promise<boolean> {
  const { r, s, v } = terms.signature;
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
