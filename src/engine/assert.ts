/** Thrown when something that must always hold does not: a bug of ours, never a client's or a chain's doing. */
class AssertionFailure extends Error {
  override readonly name = 'AssertionFailure';
}

/** Stays on in production. `message` is a constant, so that a check that holds costs no more than the comparison. */
export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new AssertionFailure(message);
}
