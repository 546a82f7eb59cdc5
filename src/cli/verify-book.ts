import type { Hex } from 'viem';
import type { BookProof } from '../wire/history.js';
import { parseFlags } from './flags.js';
import { type CliCommand, EXIT_FAILED, EXIT_OK, UsageError } from './run.js';
import type { UnsignedWithdrawal } from './book-verification.js';
import { CONNECTION_FLAGS, connectionHelp, targetOf } from './terminal.js';

const help = `quotebook verify-book --pool ADDRESS --seq N --rpc URL [--stream-rpc URL] [--proof FILE]

Computes the hash of a pool's public book from the chains alone, and compares it with the service's proof of it
(GET /book/{pool}/proof). Exits with 1 where anything differs. The node has to be an archive node: contracts are read at
the proof's block. Withdrawals are checked by their providers' signatures; it names those that have none.

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
    const wholeNumber = (name: string, usual: bigint, least: bigint, what: string): bigint => {
      const text = values.get(name) ?? String(usual);
      if (!/^[0-9]{1,15}$/.test(text) || BigInt(text) < least) throw new UsageError(`--${name} is ${what}`);
      return BigInt(text);
    };
    // Slow to load, so not by every command.
    const { createPublicClient, http } = await import('viem');
    const chains = {
      settlement: createPublicClient({ transport: http(rpc) }),
      stream: createPublicClient({ transport: http(values.get('stream-rpc') ?? rpc) }),
      fromBlock: wholeNumber('from-block', 0n, 0n, 'the number of a block'),
      blocksPerRequest: wholeNumber('blocks-per-request', 10_000n, 1n, 'a number of blocks, at least 1'),
    };
    let proof: BookProof;
    if (file === undefined) {
      const { OrderbookClient } = await import('../client/node.js');
      const client = new OrderbookClient(await targetOf(parsed, io));
      try {
        proof = await client.rest.bookProof(pool as Hex, seq);
      } finally {
        client.close();
      }
    } else proof = JSON.parse(await io.readText(file)) as BookProof;
    if (proof.poolAddress !== pool.toLowerCase()) throw new UsageError(`the proof is of pool ${proof.poolAddress}`);
    if (proof.seq < Number(seq)) throw new UsageError(`the proof is as of event ${proof.seq}`);
    const { verifyBook } = await import('./book-verification.js');
    const { hash, quotes, withdrawn, unsigned, problems } = await verifyBook(proof, chains);
    if (parsed.switches.has('json')) {
      const ok = problems.length === 0;
      io.out(JSON.stringify({ ok, seq: proof.seq, hash, quotes, withdrawn, unsigned, problems }));
      return problems.length === 0 ? EXIT_OK : EXIT_FAILED;
    }
    io.out(`event ${proof.seq}`);
    io.out(`hash ${hash}`);
    io.out(`quotes ${quotes}`);
    io.out(`withdrawn ${withdrawn}`);
    io.out(`withdrawn without a signature ${unsigned.length}`);
    for (const each of unsigned) io.out(`quote ${each.quoteId}: ${wordsOf(each)}`);
    for (const problem of problems) io.err(problem);
    io.out(problems.length === 0 ? 'the chains confirm the proof' : 'the chains do not confirm the proof');
    return problems.length === 0 ? EXIT_OK : EXIT_FAILED;
  },
};

/** How it came to be withdrawn, by the service's word. */
function wordsOf({ evidence, reason }: UnsignedWithdrawal): string {
  switch (evidence) {
    case 'SESSION':
      return 'a key that had proven the address of its provider withdrew it; there is no signature';
    case 'RULE':
      return `a rule that its provider had set withdrew it (${reason}); there is no signature`;
    case 'NOT_RECORDED':
      return 'its provider signed the withdrawal, and the log of that time has no signatures';
    case 'NOT_SHOWN':
      return 'its provider signed the withdrawal, in a message that the proof must not show';
    case null:
      return 'the proof does not say how it was withdrawn';
  }
}
