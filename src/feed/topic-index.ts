import type { Channel } from '../wire/socket.js';
import type { Hex } from '../engine/quote.js';
import { keyParts, keyPrefix, type Narrowing, type EventRoute } from './filters.js';

interface Topic {
  readonly name: string;
  readonly key: string;
  readonly narrowing: Narrowing;
  subscribers: number;
}

/** The topics of one key and one provider (null: any), smallest minimum size first. */
type BySize = Topic[];
type ByProvider = Map<Hex | null, BySize>;
/** Topics by the parts of their keys, as these are asked for in turn; `*` stands for any. */
type ByTaker = Map<string, ByProvider>;
type BySide = Map<string, ByTaker>;
type ByPool = Map<string, BySide>;

/**
 * Knows which topics have subscribers, and which of them a message belongs to. A key asked for without narrowing is a
 * topic; each distinct narrowing of it is another. A message finds its topics by at most 16 look-ups (8 keys, each for
 * its provider and for any), and touches no topic it does not belong to except one per look-up. Keys are looked up part
 * by part: a message has the parts at hand, and would have to put each key together, and hash it, only to find that
 * nobody asked for it.
 */
export class TopicIndex {
  readonly #byName = new Map<string, Topic>();
  readonly #byPrefix = new Map<string, ByPool>();
  readonly #prefixes: Readonly<Record<Channel, string>>;
  readonly #namePrefix: string;

  /** `namePrefix`: what the names of its topics begin with, where another index publishes over the same network. */
  constructor(chainId: string, namePrefix = '') {
    this.#namePrefix = namePrefix;
    this.#prefixes = { QUOTES: keyPrefix('QUOTES', chainId), RFQ: keyPrefix('RFQ', chainId) };
  }

  /** Topics with at least one subscriber. */
  get size(): number {
    return this.#byName.size;
  }

  /** Counts a subscriber in and says which topic is its own. */
  join(key: string, narrowing: Narrowing): string {
    const name = this.#namePrefix + topicName(key, narrowing);
    let topic = this.#byName.get(name);
    if (topic === undefined) {
      topic = { name, key, narrowing, subscribers: 0 };
      this.#add(topic);
    }
    topic.subscribers++;
    return name;
  }

  /** Counts a subscriber out; a topic without any is forgotten. */
  leave(name: string): void {
    const topic = this.#byName.get(name);
    if (topic === undefined) throw new Error(`nobody is subscribed to ${name}`);
    topic.subscribers--;
    if (topic.subscribers === 0) this.#remove(topic);
  }

  /** The topics whose subscribers wait for this route. A subscriber is in at most one of them. */
  match(route: EventRoute): string[] {
    const names: string[] = [];
    if (this.#byName.size === 0) return names;
    const byPool = this.#byPrefix.get(this.#prefixes[route.channel]);
    if (byPool === undefined) return names;
    collectOfPool(names, byPool.get(route.poolAddress), route);
    collectOfPool(names, byPool.get('*'), route);
    return names;
  }

  #add(topic: Topic): void {
    this.#byName.set(topic.name, topic);
    const { prefix, pool, side, taker } = keyParts(topic.key);
    const byPool = inside(this.#byPrefix, prefix, () => new Map<string, BySide>());
    const bySide = inside(byPool, pool, () => new Map<string, ByTaker>());
    const byTaker = inside(bySide, side, () => new Map<string, ByProvider>());
    const providers = inside(byTaker, taker, () => new Map<Hex | null, BySize>());
    const { provider, minSize } = topic.narrowing;
    const sizes = inside(providers, provider, () => []);
    sizes.splice(rank(sizes, minSize), 0, topic);
  }

  #remove(topic: Topic): void {
    this.#byName.delete(topic.name);
    const { prefix, pool, side, taker } = keyParts(topic.key);
    const byPool = this.#byPrefix.get(prefix);
    const bySide = byPool?.get(pool);
    const byTaker = bySide?.get(side);
    const providers = byTaker?.get(taker);
    const sizes = providers?.get(topic.narrowing.provider);
    if (sizes === undefined) throw new Error(`topic ${topic.name} was not indexed`);
    sizes.splice(rank(sizes, topic.narrowing.minSize), 1);
    if (sizes.length > 0) return;
    providers?.delete(topic.narrowing.provider);
    if (providers?.size === 0) byTaker?.delete(taker);
    if (byTaker?.size === 0) bySide?.delete(side);
    if (bySide?.size === 0) byPool?.delete(pool);
    if (byPool?.size === 0) this.#byPrefix.delete(prefix);
  }
}

/** The value under the key, made and put there if it is absent. */
function inside<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  let found = map.get(key);
  if (found === undefined) {
    found = make();
    map.set(key, found);
  }
  return found;
}

function topicName(key: string, { provider, minSize }: Narrowing): string {
  if (provider === null && minSize === 0n) return key;
  return `${key}?provider=${provider ?? '*'}&size=${minSize}`;
}

// Called for every event: loops over the two values of each part would make seven arrays for it.

function collectOfPool(names: string[], bySide: BySide | undefined, route: EventRoute): void {
  if (bySide === undefined) return;
  collectOfSide(names, bySide.get(route.side), route);
  collectOfSide(names, bySide.get('*'), route);
}

function collectOfSide(names: string[], byTaker: ByTaker | undefined, route: EventRoute): void {
  if (byTaker === undefined) return;
  collectOfTaker(names, byTaker.get(route.taker), route);
  collectOfTaker(names, byTaker.get('*'), route);
}

function collectOfTaker(names: string[], providers: ByProvider | undefined, route: EventRoute): void {
  if (providers === undefined) return;
  if (route.channel === 'RFQ') return collectRfq(names, providers, route);
  collect(names, providers.get(null), route.size);
  if (route.provider !== null) collect(names, providers.get(route.provider), route.size);
}

/** A request for some makers goes to those alone who name themselves; any other to everyone. */
function collectRfq(names: string[], providers: ByProvider, { size, makers = [] }: EventRoute): void {
  if (makers.length > 0) {
    for (const maker of new Set(makers)) collect(names, providers.get(maker), size);
  } else for (const sizes of providers.values()) collect(names, sizes, size);
}

function collect(names: string[], sizes: BySize | undefined, size: bigint): void {
  if (sizes === undefined) return;
  for (const topic of sizes) {
    if (topic.narrowing.minSize > size) return;
    names.push(topic.name);
  }
}

/** How many topics have a smaller minimum size: where one of `minSize` is, or would go. */
function rank(sizes: BySize, minSize: bigint): number {
  let low = 0;
  let high = sizes.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const topic = sizes[middle];
    if (topic !== undefined && topic.narrowing.minSize < minSize) low = middle + 1;
    else high = middle;
  }
  return low;
}
