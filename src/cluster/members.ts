import type { BlockHead, BlockId } from '../chain/contracts/blocks-and-logs.js';
import type { CancelTimer, Clock } from '../engine/ports.js';
import { type ClusterConnection, isUnserved, jsonObject } from './connection.js';

/** A member's answer to a roll call. */
export interface MemberInfo {
  readonly member: string;
  readonly role: 'leader' | 'standby' | 'gateway';
  /** The last term that it knows of. */
  readonly term: number;
  /** Records that it shows, and messages of the stream that it has yet to read. */
  readonly index: number;
  readonly lag: number;
  readonly version: string;
}

/** How one chain looks to the leader. */
export interface ChainNews {
  readonly head: BlockHead | null;
  readonly stale: string | null;
  readonly failure: string | null;
  /** The last block whose events the leader's book has. */
  readonly readTo: BlockId | null;
}

/** The leader's news, every `clusterNewsMs`, from which gateways know that there is one and how the chains are. */
export interface LeaderNews {
  readonly member: string;
  readonly term: number;
  /** The last message of the log stream, and the last group there. */
  readonly seq: number;
  readonly group: number;
  readonly engineMs: number;
  readonly caughtUp: boolean;
  /** Why the log takes nothing. */
  readonly refusal: string | null;
  readonly chains: { readonly settlement: ChainNews; readonly stream: ChainNews };
  /** Null: it has no wallet. */
  readonly wallet: `0x${string}` | null;
}

/** Publishes the leader's news now and every `periodMs`. Returns how to stop. */
export function publishNews(
  { nats, names }: ClusterConnection,
  clock: Clock,
  periodMs: number,
  news: () => LeaderNews,
): () => void {
  let cancel: CancelTimer;
  const publish = (): void => {
    cancel = clock.after(periodMs, publish);
    if (!nats.isClosed()) nats.publish(names.status, JSON.stringify(news()));
  };
  publish();
  return () => cancel();
}

/** Hears the leader's news; what is no news of this format is passed over. Returns how to stop. */
export function hearNews({ nats, names }: ClusterConnection, listener: (news: LeaderNews) => void): () => void {
  const subscription = nats.subscribe(names.status, {
    callback: (error, message) => {
      if (error !== null) return;
      const news = jsonObject<LeaderNews>(message);
      if (isNews(news)) listener(news);
    },
  });
  return () => subscription.unsubscribe();
}

function isNews(news: Partial<LeaderNews> | null): news is LeaderNews {
  if (news === null || ![news.seq, news.term, news.engineMs].every(Number.isSafeInteger)) return false;
  const { settlement, stream }: Partial<LeaderNews['chains']> = news.chains ?? {};
  return typeof settlement?.readTo === 'object' && typeof stream?.readTo === 'object';
}

/** Answers when the roll is called. Returns how to stop. */
export function answerRoll({ nats, names }: ClusterConnection, info: () => MemberInfo): () => void {
  const subscription = nats.subscribe(names.roll, {
    callback: (error, message) => {
      if (error === null) message.respond(JSON.stringify(info()));
    },
  });
  return () => subscription.unsubscribe();
}

/** All members that answer within `waitMs`, by name; empty where no member runs. */
export async function callRoll({ nats, names }: ClusterConnection, waitMs: number): Promise<MemberInfo[]> {
  const answers = await nats.requestMany(names.roll, undefined, { strategy: 'timer', maxWait: waitMs });
  const members: MemberInfo[] = [];
  try {
    for await (const answer of answers) {
      const info = jsonObject<MemberInfo>(answer);
      if (typeof info?.member === 'string') members.push(info as MemberInfo);
    }
  } catch (error) {
    if (!isUnserved(error)) throw error;
  }
  return members.sort((a, b) => (a.member < b.member ? -1 : 1));
}

/** The leader gives up when it is asked to. Returns how to stop. */
export function hearStepDown({ nats, names }: ClusterConnection, stepDown: () => void): () => void {
  const subscription = nats.subscribe(names.stepDown, {
    callback: (error, message) => {
      if (error !== null) return;
      message.respond('OK');
      stepDown();
    },
  });
  return () => subscription.unsubscribe();
}

/** Resolves when a leader has heard it; rejects without a leader. */
export async function askStepDown({ nats, names, options }: ClusterConnection): Promise<void> {
  await nats.request(names.stepDown, undefined, { timeout: options.callMs });
}
