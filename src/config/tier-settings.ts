import { tierQuotas } from './limits.js';
import { integer } from './setting.js';

type Tier = keyof typeof tierQuotas;
export type QuotaName = keyof (typeof tierQuotas)[Tier];

/** What each quota bounds, in the words of the documentation. */
const about: Readonly<Record<QuotaName, string>> = {
  requestsPerSecond: 'Requests in a second',
  quotesPerMinute: 'Quotes posted in a minute',
  quoteBurst: 'Quotes posted at once after a pause, and so in one request',
  quotesPerDay: 'Quotes published in 24 hours',
  gasPerDay: 'Gas that their publication, deployments and settlements cost the operator in 24 hours',
  connections: 'WebSockets open at once',
  channels: 'Channels followed at once over all sockets',
  messagesPerSecond: 'WebSocket messages sent in a second',
  rowsPerSecond: 'Quotes, events and levels in large answers, snapshots and replays in a second',
  answerBytesPerSecond: 'Bytes of large answers, snapshots and replays in a second',
  answersWaiting: 'Large answers that wait while another one is made',
};

/** What a setting may be at most, where that is more than usual. */
const MOST: Readonly<Partial<Record<QuotaName, number>>> = {
  gasPerDay: 1_000_000_000_000_000,
  answerBytesPerSecond: 1_000_000_000_000,
};

export type TierSettingName<T extends Tier> = `${T}${Capitalize<QuotaName>}`;

/** `('free', 'quoteBurst')` -> `freeQuoteBurst` */
export function tierSettingName<T extends Tier>(tier: T, quota: QuotaName): TierSettingName<T> {
  return `${tier}${quota.charAt(0).toUpperCase()}${quota.slice(1)}` as TierSettingName<T>;
}

/** One setting for each quota of a tier. */
export function tierSettings<T extends Tier>(
  tier: T,
): Readonly<Record<TierSettingName<T>, ReturnType<typeof integer>>> {
  const quotas = Object.keys(about) as QuotaName[];
  const entries = quotas.map((quota) => [
    tierSettingName(tier, quota),
    integer(
      1,
      MOST[quota] ?? 1_000_000_000,
      tierQuotas[tier][quota],
      `${about[quota]}, of each key of the ${tier} tier.`,
    ),
  ]);
  return Object.fromEntries(entries) as Record<TierSettingName<T>, ReturnType<typeof integer>>;
}

const tiers = Object.keys(tierQuotas) as Tier[];
const names: ReadonlySet<string> = new Set(tiers.flatMap((tier) => Object.keys(tierSettings(tier))));

/** These take effect while the service runs; others at its next start. */
export function isTierSetting(name: string): boolean {
  return names.has(name);
}
