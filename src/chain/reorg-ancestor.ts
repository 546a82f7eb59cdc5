import { idOf, type BlockHead, type BlockId } from './block-head.js';
import { ChainAnswerError } from './chain-answer-error.js';
import type { ReadBlocks } from './read-blocks.js';

/**
 * The newest block that was read and is on the chain that ends in `target`; null when it has none of them and shows
 * another chain. Rejects with ChainAnswerError when the node has lost blocks, or is behind all that was read: a block
 * that it lacks proves nothing, and an older one that it has is as good an ancestor. Only a block that differs shows
 * that the chain changed.
 */
export async function reorgAncestor(
  trail: ReadBlocks,
  target: BlockHead,
  find: (blockNumber: number) => Promise<BlockHead | null>,
): Promise<BlockId | null> {
  let lost: BlockId | null = null;
  let differs = false;
  for (const candidate of trail.newestFirst()) {
    if (candidate.blockNumber > target.number) continue;
    const block = await find(candidate.blockNumber);
    if (block?.hash === candidate.blockHash) return idOf(block);
    if (block === null) lost = candidate;
    else differs = true;
  }
  if (lost !== null) throw new ChainAnswerError(`The node lacks block ${lost.blockNumber}, below its own head`);
  if (differs) return null;
  throw new ChainAnswerError(
    `The node is behind: its head ${target.number} is below block ${trail.oldest?.blockNumber}, the oldest that reading can go back to`,
  );
}
