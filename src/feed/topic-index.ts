import type { Hex } from '../engine/quote.js';
import type { Narrowing, Route } from './topics.js';
import { routeKeys } from './topics.js';

interface Topic {
  readonly name: string;
  readonly key: string;
  readonly narrowing: Narrowing;
  subscribers: number;
}

/** The topics of one key and one provider (null: any), smallest minimum size first. */
type BySize = Topic[];

/**
 * Knows which topics have subscribers, and which of them a message belongs to. A key asked for without narrowing is a
 * topic; each distinct narrowing of it is another. A message finds its topics by at most 16 look-ups (8 keys, each for
 * its provider and for any), and touches no topic it does not belong to except one per look-up.
 */
export class TopicIndex {
  readonly #chainId: string;
  readonly #byName = new Map<string, Topic>();
  readonly #byKey = new Map<string, Map<Hex | null, BySize>>();

  constructor(chainId: string) {
    this.#chainId = chainId;
  }

  /** Topics with at least one subscriber. */
  get size(): number {
    return this.#byName.size;
  }

  /** Counts a subscriber in and says which topic is its own. */
  join(key: string, narrowing: Narrowing): string {
    const name = topicName(key, narrowing);
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
  match(route: Route): string[] {
    const names: string[] = [];
    if (this.#byName.size === 0) return names;
    for (const key of routeKeys(this.#chainId, route)) {
      const providers = this.#byKey.get(key);
      if (providers === undefined) continue;
      collect(names, providers.get(null), route.size);
      if (route.provider !== null) collect(names, providers.get(route.provider), route.size);
    }
    return names;
  }

  #add(topic: Topic): void {
    this.#byName.set(topic.name, topic);
    const { provider, minSize } = topic.narrowing;
    let providers = this.#byKey.get(topic.key);
    if (providers === undefined) {
      providers = new Map<Hex | null, BySize>();
      this.#byKey.set(topic.key, providers);
    }
    const sizes = providers.get(provider);
    if (sizes === undefined) providers.set(provider, [topic]);
    else sizes.splice(rank(sizes, minSize), 0, topic);
  }

  #remove(topic: Topic): void {
    this.#byName.delete(topic.name);
    const providers = this.#byKey.get(topic.key);
    const sizes = providers?.get(topic.narrowing.provider);
    if (providers === undefined || sizes === undefined) throw new Error(`topic ${topic.name} was not indexed`);
    sizes.splice(rank(sizes, topic.narrowing.minSize), 1);
    if (sizes.length === 0) providers.delete(topic.narrowing.provider);
    if (providers.size === 0) this.#byKey.delete(topic.key);
  }
}

function topicName(key: string, { provider, minSize }: Narrowing): string {
  if (provider === null && minSize === 0n) return key;
  return `${key}?provider=${provider ?? '*'}&size=${minSize}`;
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
