/** A chain said something that cannot be: a null block, a log without its place. */
export class ChainAnswerError extends Error {
  override readonly name = 'ChainAnswerError';
}
