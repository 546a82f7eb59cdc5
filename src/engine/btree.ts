import sortedBtree from 'sorted-btree';

/** The package is CommonJS with its class under `default`; this is the one place that knows. */
export const BTree = sortedBtree.default;
export type BTree<K, V> = sortedBtree.default<K, V>;
