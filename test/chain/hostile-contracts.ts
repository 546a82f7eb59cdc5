import { concat, encodeEventTopics, type Hex, numberToHex, size } from 'viem';
import { poolAbi } from '../../src/chain/contracts/abi.js';
import type { SignedOffer } from './sign-quote.js';

/**
 * Contracts that do what no honest one does, as the bytes they run (Ethereum yellow paper, appendix H), to be put at an
 * address by `anvil_setCode`.
 */

/** Whatever it is asked, all gas is gone. */
export const BURNS_ALL_GAS: Hex = '0xfe';

/** As above, and the node works for all of it. */
export const LOOPS_FOR_EVER: Hex = '0x5b600056';

/** Whatever it is asked, it refuses without a word. */
export const REFUSES: Hex = '0x60006000fd';

/** Answers every call with two million bytes: who copies them pays for the memory. */
export const ANSWERS_ENDLESSLY: Hex = '0x621e84806000f3';

/**
 * A token whose `allowance` and `balanceOf`, which have short calldata, take all gas by work; and that logs longer
 * calldata as `logsWhatItIsTold` does.
 */
export function burnsWhenAsked(topics: 3 | 4): Hex {
  const LONGEST_QUESTION = 100;
  return concat([
    '0x36',
    push(LONGEST_QUESTION),
    '0x10',
    push(11),
    '0x57',
    '0x5b600756',
    '0x5b',
    logsWhatItIsTold(topics),
  ]);
}

/** Logs its calldata: the first words are the topics, the rest the data. */
export function logsWhatItIsTold(topics: 1 | 2 | 3 | 4): Hex {
  const loads = Array.from({ length: topics }, (_, i) => concat([push((topics - 1 - i) * 32), '0x35']));
  const rest = push(topics * 32);
  // CALLDATASIZE less the topics, copied to memory 0, logged from there.
  return concat([...loads, rest, '0x3603', '0x80', rest, push(0), '0x37', push(0), numberToHex(0xa0 + topics), '0x00']);
}

/** Input of the contract that emits any log: here a `FillQuoteOB`, four topics, then the words. */
export function fillLog({ quoteId, provider }: SignedOffer, contractSize: bigint, user: Hex): Hex {
  const args = { quoteOBHash: quoteId, user, provider };
  const topics = encodeEventTopics({ abi: poolAbi, eventName: 'FillQuoteOB', args }) as Hex[];
  const delta = [0n, 0n, 0n];
  const words = [contractSize, ...delta, ...delta, 0n, 0n, 0n, 1n].map((word) => numberToHex(word, { size: 32 }));
  return concat([...topics, ...words]);
}

/** Calls `target` with `data` whenever it is asked anything, and answers one word: `answer`. */
export function meddlesWith(target: Hex, data: Hex, answer: number): Hex {
  const length = push(size(data), 2);
  // The call's data stands behind the code. CODECOPY to memory 0, CALL with all gas, answer.
  const after = (codeBytes: number): Hex =>
    concat([
      ...[length, push(codeBytes, 2), push(0), '0x39'],
      ...[push(0), push(0), length, push(0), push(0), concat(['0x73', target]), '0x5a', '0xf1', '0x50'],
      ...[push(answer), push(0), '0x52', push(32), push(0), '0xf3'],
    ] as Hex[]);
  return concat([after(size(after(0))), data]);
}

function push(value: number, bytes = 1): Hex {
  return concat([numberToHex(0x5f + bytes), numberToHex(value, { size: bytes })]);
}
