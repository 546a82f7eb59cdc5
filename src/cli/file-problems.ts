import { BUILT_IN_PROFILES, readProfileFile } from '../config/profile-file.js';
import type { Settings } from '../config/setting-table.js';
import type { ReadSettings, ReadText } from '../config/settings.js';
import { readWalletKey } from '../config/wallet-key.js';

/** Everything that is wrong with settings and with the files that they name, one sentence each. */
export async function allProblems(read: ReadSettings, readText: ReadText): Promise<string[]> {
  if (read.ok) return problemsOfFiles(read.settings, readText);
  return [...read.problems, ...(await problemsOfFiles(read.valid, readText))];
}

/** Settings that are wrong themselves name no file. */
async function problemsOfFiles(settings: Partial<Settings>, readText: ReadText): Promise<string[]> {
  const { profile, walletKey = null, walletKeyFile = null } = settings;
  const problems: string[] = [];
  if (profile !== undefined && !BUILT_IN_PROFILES.includes(profile)) {
    const file = await readProfileFile(profile, readText);
    if (!file.ok) problems.push(...file.problems);
  }
  try {
    await readWalletKey({ walletKey, walletKeyFile }, readText);
  } catch (error) {
    problems.push(`${(error as Error).message}.`);
  }
  return problems;
}
