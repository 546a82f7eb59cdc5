import type { Logger } from 'pino';
import { effectiveQuotas } from '../config/effective-limits.js';
import { isTierSetting, type Settings } from '../config/setting-table.js';
import type { Changes } from '../config/settings-watch.js';
import type { Service } from './service.js';

/** Applies the settings that can change while the service runs, and logs the others that differ from those in force. */
export function adoptSettings(
  service: Pick<Service, 'adoptQuotas'>,
  now: Settings,
  { changed, sinceStart }: Changes,
  logger: Pick<Logger, 'info' | 'warn'>,
): void {
  const quotas = changed.filter(isTierSetting);
  const later = changed.filter((name) => !isTierSetting(name) && sinceStart.includes(name));
  if (quotas.length > 0) {
    service.adoptQuotas(effectiveQuotas(now));
    logger.info({ settings: quotas }, 'quotas changed');
  }
  if (later.length > 0) logger.warn({ settings: later }, 'settings need a restart');
}
