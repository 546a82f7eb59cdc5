import t from 'tap';
import { concat, keccak256 as viemKeccak256, numberToHex, type Hex } from 'viem';
import { addTerm, BookHash, hashText } from '../../src/feed/book-hash.js';
import { keccak256 } from './keccak.js';

const hash = new BookHash(keccak256);
const word = (value: bigint): Hex => numberToHex(value, { size: 32 });
/** As docs/reference/api.md says it, by another library. */
const termOf = (...words: bigint[]): bigint => BigInt(viemKeccak256(concat(words.map(word))));
const MAX = 2n ** 256n - 1n;
/** On both sides of each 64 bits, and one with another value in each. */
const AMOUNTS = [1n, ...[64n, 128n, 192n].flatMap((bits) => [2n ** bits - 1n, 2n ** bits]), 0x1_23n << 188n, MAX];
const MIXED = (4n << 192n) | (3n << 128n) | (2n << 64n) | 1n;

t.test('the term of a quote is keccak256 of its id and all 256 bits of its size', async (t) => {
  for (const size of [...AMOUNTS, MIXED]) {
    const quoteId = 0xabn << 248n;
    t.equal(hash.quoteTerm(word(quoteId), size), termOf(quoteId, size), `${size}`);
  }
  t.equal(hash.quoteTerm(word(MAX), 0n), 0n, 'with nothing to fill it is not in the book');
});

t.test('the term of a level is keccak256 of its side, price, size and count', async (t) => {
  for (const size of [...AMOUNTS, MIXED]) {
    t.equal(hash.levelTerm('bid', { price: 5n, size, count: 2 }), termOf(0n, 5n, size, 2n), `bid of ${size}`);
    t.equal(hash.levelTerm('ask', { price: MIXED, size, count: 1 }), termOf(1n, MIXED, size, 1n), `ask of ${size}`);
  }
  t.equal(hash.levelTerm('ask', { price: 5n, size: 0n, count: 0 }), 0n, 'an empty level adds nothing');
});

t.test('terms come and go modulo 2^256, and the sum is written with all its digits', async (t) => {
  t.equal(addTerm(MAX, 2n), 1n);
  t.equal(addTerm(1n, -2n), MAX);
  t.equal(addTerm(addTerm(MAX, 7n), -7n), MAX);
  t.equal(hashText(0n), `0x${'0'.repeat(64)}`);
  t.equal(hashText(MAX), `0x${'f'.repeat(64)}`);
  t.equal(hashText(0xabn), `0x${'ab'.padStart(64, '0')}`);
});
