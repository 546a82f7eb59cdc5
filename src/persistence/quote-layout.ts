/** Bytes of an address, and of a hash or any other word. */
export const ADDRESS_BYTES = 20;
export const WORD_BYTES = 32;
/** Fields of a pool and of a quote, in the order in which they are written. docs/reference/log-format.md. */
export const POOL_FIELDS = 7;
export const QUOTE_FIELDS = 14;
