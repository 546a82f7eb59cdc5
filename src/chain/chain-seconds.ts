/**
 * Engine time in Unix seconds, which follows the settlement chain; null while the chain has not been read since the
 * start, when nobody can say which dates have passed.
 */
export type ChainSeconds = () => number | null;
