import type { HeldTier } from '../auth/key-file.js';
import type { QuotaTable } from '../quota/rate-limits.js';
import { type Limits, limits, tierQuotas } from './limits.js';
import { type QuotaName, type Settings, tierSettingName } from './setting-table.js';

/** The limits, with those that settings changed. */
export function effectiveLimits(settings: Settings): Limits {
  const changed = Object.keys(limits).filter((name) => name in settings);
  return { ...limits, ...Object.fromEntries(changed.map((name) => [name, settings[name as keyof Settings]])) };
}

/** The quotas of all tiers as the settings have them. */
export function effectiveQuotas(settings: Settings): QuotaTable {
  const of = (tier: HeldTier): QuotaTable[HeldTier] => {
    const names = Object.keys(tierQuotas[tier]) as QuotaName[];
    return Object.fromEntries(names.map((name) => [name, settings[tierSettingName(tier, name)]])) as never;
  };
  return { free: of('free'), paid: of('paid'), self: of('self') };
}
