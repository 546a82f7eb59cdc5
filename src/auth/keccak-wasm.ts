/**
 * Keccak-256 as a WebAssembly module, put together here: the permutation of FIPS 202 (3.2 and 3.3) with its 25 lanes in
 * locals, and around it a loop over the blocks of a message that is in memory already. Libraries take a call, a copy
 * and two new views for each part of a message, which for messages of one or two blocks is a third of the time.
 */

/** Of the module's memory: one page (WebAssembly), which begins with the constants of the 24 rounds. */
export const MEMORY_BYTES = 65_536;
export const FREE_FROM = 256;
/** Bytes of a message that one permutation takes (1600 bits less twice 256). */
export const BLOCK_BYTES = 136;
const ROUNDS = 24;

/** Opcodes and types of the WebAssembly core specification, 5.3 to 5.5. */
const I32 = 0x7f;
const I64 = 0x7e;
const LOOP = [0x03, 0x40];
const END = 0x0b;
const BR_IF = 0x0d;
const I64_LOAD = 0x29;
const I64_STORE = 0x37;
const I32_NE = 0x47;
const I32_ADD = 0x6a;
const I64_AND = 0x83;
const I64_XOR = 0x85;
const I64_ROTL = 0x89;
/** Memory operands: no alignment is promised, and the offset follows. */
const UNALIGNED = 0;

/** Parameters, then locals. */
const AT = 0;
const BLOCKS_END = 1;
const TO = 2;
const ROUND = 3;
const lane = (x: number, y: number): number => 4 + (x % 5) + 5 * (y % 5);
const moved = (x: number, y: number): number => 29 + (x % 5) + 5 * (y % 5);
const parity = (x: number): number => 54 + (x % 5);
const CHANGE = 59;

const FIVE = [0, 1, 2, 3, 4] as const;

/**
 * Exports `memory` and `hash(at, end, to)`: the 32 bytes at `to` become the hash of the padded blocks from `at` to
 * `end`.
 */
export function keccakModule(): Uint8Array<ArrayBuffer> {
  const types = section(1, [1, 0x60, 3, I32, I32, I32, 0]);
  const functions = section(3, [1, 0]);
  const memory = section(5, [1, 1, 1, 1]);
  const exports = section(7, [2, ...text('memory'), 2, 0, ...text('hash'), 0, 0]);
  const body = [2, 1, I32, 56, I64, ...hashBlocks(), END];
  const code = section(10, [1, ...number(body.length), ...body]);
  return Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, ...types, ...functions, ...memory, ...exports, ...code);
}

/** The constant of each round: the bits of a feedback shift register, at the places 2^j - 1 (FIPS 202, 3.2.5). */
export function roundConstants(): BigUint64Array {
  const constants = new BigUint64Array(ROUNDS);
  let register = 1;
  for (let round = 0; round < ROUNDS; round++) {
    let constant = 0n;
    for (let j = 0; j <= 6; j++) {
      if ((register & 1) === 1) constant |= 1n << BigInt(2 ** j - 1);
      register = (register << 1) ^ (register >= 0x80 ? 0x171 : 0);
    }
    constants[round] = constant;
  }
  return constants;
}

function hashBlocks(): number[] {
  const absorb = Array.from({ length: BLOCK_BYTES / 8 }, (_, i) => [
    ...[...get(lane(i, Math.floor(i / 5))), ...get(AT), I64_LOAD, UNALIGNED, ...number(8 * i), I64_XOR],
    ...set(lane(i, Math.floor(i / 5))),
  ]);
  const rounds = [...constant(0), ...set(ROUND), ...LOOP, ...round(), ...step(ROUND, 8, constant(8 * ROUNDS)), END];
  const squeeze = FIVE.slice(0, 4).map((x) => [
    ...[...get(TO), ...get(lane(x, 0)), I64_STORE, UNALIGNED, ...number(8 * x)],
  ]);
  return [...LOOP, ...absorb.flat(), ...rounds, ...step(AT, BLOCK_BYTES, get(BLOCKS_END)), END, ...squeeze.flat()];
}

/** `ROUND` is where its constant is in memory. */
function round(): number[] {
  const offsets = rotations();
  const parities = FIVE.map((x) => [
    ...FIVE.flatMap((y) => [...get(lane(x, y)), ...(y === 0 ? [] : [I64_XOR])]),
    ...set(parity(x)),
  ]);
  const moves = FIVE.map((x) => [
    ...[...get(parity(x + 4)), ...get(parity(x + 1)), ...rotate(1), I64_XOR, ...set(CHANGE)],
    ...FIVE.flatMap((y) => [
      ...[...get(lane(x, y)), ...get(CHANGE), I64_XOR, ...rotate(offsets[x + 5 * y] ?? 0)],
      ...set(moved(y, 2 * x + 3 * y)),
    ]),
  ]);
  const mixes = FIVE.flatMap((y) =>
    FIVE.map((x) => [
      ...[...get(moved(x, y)), ...get(moved(x + 1, y)), ...NOT, ...get(moved(x + 2, y)), I64_AND, I64_XOR],
      ...set(lane(x, y)),
    ]),
  );
  const first = [...get(lane(0, 0)), ...get(ROUND), I64_LOAD, UNALIGNED, 0, I64_XOR, ...set(lane(0, 0))];
  return [...parities, ...moves, ...mixes, first].flat();
}

/** By how much each lane is rotated (FIPS 202, 3.2.2). */
function rotations(): number[] {
  const offsets = Array.from({ length: 25 }, () => 0);
  let [x, y] = [1, 0];
  for (let t = 0; t < 24; t++) {
    offsets[x + 5 * y] = (((t + 1) * (t + 2)) / 2) % 64;
    [x, y] = [y, (2 * x + 3 * y) % 5];
  }
  return offsets;
}

const NOT = [0x42, 0x7f, I64_XOR];

function rotate(bits: number): number[] {
  return bits === 0 ? [] : [0x42, ...signed(bits), I64_ROTL];
}

function get(local: number): number[] {
  return [0x20, local];
}

function set(local: number): number[] {
  return [0x21, local];
}

function constant(value: number): number[] {
  return [0x41, ...signed(value)];
}

/** Adds to a local, and begins the loop again until that makes it `end`. */
function step(local: number, by: number, end: readonly number[]): number[] {
  return [...get(local), ...constant(by), I32_ADD, 0x22, local, ...end, I32_NE, BR_IF, 0];
}

function section(id: number, content: readonly number[]): number[] {
  return [id, ...number(content.length), ...content];
}

function text(name: string): number[] {
  return [name.length, ...Buffer.from(name)];
}

/** LEB128, unsigned. */
function number(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...number(value >>> 7)];
}

/** LEB128 of what is not negative, signed: bit 6 of the last byte is the sign. */
function signed(value: number): number[] {
  return value < 0x40 ? [value] : [(value & 0x7f) | 0x80, ...signed(value >>> 7)];
}
