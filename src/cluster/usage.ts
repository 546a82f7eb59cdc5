import { HELD_TIERS, type HeldTier } from '../auth/key-file.js';
import type { CancelTimer, Clock } from '../engine/ports.js';
import { type ClusterConnection, jsonObject } from './connection.js';

/** Usage of one quota by one key. */
export interface Usage {
  readonly id: string;
  readonly tier: HeldTier;
  readonly kind: string;
  readonly amount: number;
}

interface UsageMessage {
  readonly member: string;
  readonly used: readonly Usage[];
}

/** Quotas that one message tells of; more go into several. */
const PER_MESSAGE = 1_000;

function isUsage(value: unknown): value is Usage {
  const usage = value as Partial<Usage> | null;
  if (typeof usage?.id !== 'string' || typeof usage.kind !== 'string') return false;
  return HELD_TIERS.some((tier) => tier === usage.tier) && Number.isFinite(usage.amount);
}

/**
 * Tells the other gateways every `periodMs` what keys have used at this one, and hears the same of them, so that a key's
 * quotas hold over all gateways together. Until the next message each gateway knows its own part alone.
 */
export class UsageExchange {
  readonly #cluster: ClusterConnection;
  readonly #clock: Clock;
  readonly #periodMs: number;
  readonly #used = new Map<string, Usage>();
  readonly #unsubscribe: () => void;
  #cancel: CancelTimer | null = null;

  constructor(
    cluster: ClusterConnection,
    clock: Clock,
    periodMs: number,
    /** A key has used that much at another gateway. */
    onUsed: (usage: Usage) => void,
  ) {
    this.#cluster = cluster;
    this.#clock = clock;
    this.#periodMs = periodMs;
    const { nats, names, options } = cluster;
    const subscription = nats.subscribe(names.usage, {
      callback: (error, message) => {
        if (error !== null) return;
        const told = jsonObject<UsageMessage>(message);
        if (told === null || told.member === options.member || !Array.isArray(told.used)) return;
        for (const usage of (told.used as unknown[]).filter(isUsage)) onUsed(usage);
      },
    });
    this.#unsubscribe = () => subscription.unsubscribe();
  }

  /** A key has used that much here. */
  add(id: string, tier: Usage['tier'], kind: string, amount: number): void {
    const name = `${id} ${kind}`;
    const before = this.#used.get(name);
    this.#used.set(name, { id, tier, kind, amount: amount + (before?.tier === tier ? before.amount : 0) });
    this.#cancel ??= this.#clock.after(this.#periodMs, () => this.#publish());
  }

  stop(): void {
    this.#cancel?.();
    this.#unsubscribe();
  }

  #publish(): void {
    this.#cancel = null;
    const { nats, names, options } = this.#cluster;
    const used = [...this.#used.values()];
    this.#used.clear();
    for (let at = 0; at < used.length && !nats.isClosed(); at += PER_MESSAGE) {
      const message: UsageMessage = { member: options.member, used: used.slice(at, at + PER_MESSAGE) };
      nats.publish(names.usage, JSON.stringify(message));
    }
  }
}
