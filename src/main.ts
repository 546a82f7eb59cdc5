import type { Settings } from './config/setting-table.js';

/** Assembles and starts the service; resolves when it has stopped. */
export function runService(settings: Settings): Promise<void> {
  return Promise.reject(new Error(`the service for profile ${settings.profile} is not assembled yet`));
}
