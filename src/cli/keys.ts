import { DiskKeyFiles } from '../auth/disk-key-files.js';
import { type KeyFiles, type Scope, SCOPES, type KeyTier, TIERS } from '../auth/key-file.js';
import { type KeyInfo, KeyStore, LEDGER } from '../auth/key-store.js';
import { limits } from '../config/limits.js';
import { CLUSTER_SETTINGS, type Settings } from '../config/setting-table.js';
import { explainFileError } from '../config/settings.js';
import { lockFile } from '../persistence/disk/file-lock.js';
import { systemClock, systemRandom } from '../system/clock.js';
import { flagsHelp, type ParsedWords, parseFlags, settingFlags, settingsFrom, printProblems } from './flags.js';
import { type CliCommand, type CommandIo, EXIT_FAILED, EXIT_OK, EXIT_USAGE, columns, UsageError } from './run.js';

/** Where the keys are: in a directory, or in a cluster of that profile. */
const KEY_SETTINGS = ['dataDir', ...CLUSTER_SETTINGS] as const;

const help = `quotebook keys create [--tier free|paid] [--scope SCOPES] [--label TEXT] [FLAGS]
quotebook keys list [FLAGS]
quotebook keys change ID --tier free|paid [FLAGS]
quotebook keys revoke ID [FLAGS]
quotebook keys unprove ID [FLAGS]

create:  makes an API key and prints it, this once: only its hash is kept.
list:    shows all keys by id, without the keys themselves.
change:  puts a key under another tier's quotas. A running server follows within seconds.
revoke:  ends a key. A running server closes its connections within seconds.
unprove: takes the addresses from a key that it has proven by sign-ins.

Works on the data directory, with or without a running server; with --cluster on the keys of a cluster.

  --tier
      Which quotas hold for the key: free or paid. Default: free.
  --scope
      One or more, separated by commas. Default: none.
      operator: the key may act with the operator's wallet: quote, fill, cancel, approve, trade with vaults,
      exercise and annihilate.
      Give it only to people who may spend the operator's money.
      takers:all: the key sees every taker's private quotes and requests where privacy is proven. Makers need it.
  --label
      A name for the owner of the key, for people to read. Default: unnamed.
${flagsHelp(KEY_SETTINGS)}`;

export const keysCommand: CliCommand = {
  name: 'keys',
  summary: 'create, list, change or revoke API keys',
  help,
  async run(words, io) {
    const parsed = parseFlags(words, { ...settingFlags(KEY_SETTINGS), tier: 'value', scope: 'value', label: 'value' });
    const action = actionOf(parsed);
    const result = await settingsFrom(parsed, io);
    if (!result.ok) {
      printProblems(result.problems, io);
      return EXIT_USAGE;
    }
    const { dataDir, cluster } = result.settings;
    if (cluster !== null) return actInCluster(result.settings, action, io);
    try {
      const files = new DiskKeyFiles(dataDir, systemClock, limits.keyUpdateMs, lockFile);
      return await actOn(files, dataDir, action, io);
    } catch (error) {
      throw explainFileError(error, { dataDir });
    }
  },
};

async function actInCluster(settings: Settings, action: Action, io: CommandIo): Promise<number> {
  const { openClusterKeys } = await import('../app/cluster-admin.js');
  const keys = await openClusterKeys(settings, limits, io.readText);
  try {
    return await actOn(keys.files, 'the cluster', action, io);
  } finally {
    await keys.close();
  }
}

/** `place`: where the files are, for people. */
async function actOn(files: KeyFiles, place: string, action: Action, io: CommandIo): Promise<number> {
  const isNew = (await files.stamp(LEDGER)) === null;
  if (isNew && action.type !== 'create') {
    io.err(`There are no keys in ${place}.`);
    return action.type === 'list' ? EXIT_OK : EXIT_FAILED;
  }
  const options = { files, clock: systemClock, random: systemRandom, cacheSize: limits.keyCache };
  return act(await KeyStore.open(options), action, io);
}

type Action =
  | { readonly type: 'create'; readonly tier: KeyTier; readonly scopes: readonly Scope[]; readonly label: string }
  | { readonly type: 'list' }
  | { readonly type: 'change'; readonly id: string; readonly tier: KeyTier }
  | { readonly type: 'revoke' | 'unprove'; readonly id: string };

const USAGE = 'say `keys create`, `keys list`, `keys change ID --tier TIER`, `keys revoke ID` or `keys unprove ID`';
const ON_ONE: readonly unknown[] = ['change', 'revoke', 'unprove'];

function actionOf({ positionals, values }: ParsedWords): Action {
  const [type, id = '', extra] = positionals;
  if (type === 'create') {
    // So, too, where a label of two words has no quotes around it.
    if (id !== '') throw new UsageError(`keys create takes flags alone, not ${id}`);
    const tier = tierOf(values.get('tier') ?? 'free');
    return { type, tier, scopes: scopesOf(values.get('scope')), label: values.get('label') ?? 'unnamed' };
  }
  const namesOne = id !== '' && extra === undefined;
  if (type === 'list' ? id !== '' : !namesOne || !ON_ONE.includes(type)) throw new UsageError(USAGE);
  for (const flag of ['label', 'scope']) {
    if (values.has(flag)) throw new UsageError(`--${flag} belongs to \`keys create\``);
  }
  if (type === 'change') return { type, id, tier: tierOf(values.get('tier') ?? '') };
  if (values.has('tier')) throw new UsageError('--tier belongs to `keys create` and `keys change`');
  if (type === 'list') return { type };
  return { type: type === 'unprove' ? type : 'revoke', id };
}

function tierOf(text: string): KeyTier {
  const tier = TIERS.find((known) => known === text);
  if (tier === undefined) throw new UsageError(`--tier is one of ${TIERS.join(', ')}`);
  return tier;
}

function scopesOf(text: string | undefined): Scope[] {
  return (text?.split(',') ?? []).map((word) => {
    const scope = SCOPES.find((known) => known === word);
    if (scope === undefined) throw new UsageError(`--scope is one of ${SCOPES.join(', ')}`);
    return scope;
  });
}

async function act(store: KeyStore, action: Action, io: CommandIo): Promise<number> {
  switch (action.type) {
    case 'create': {
      const { id, key } = await store.create(action.tier, action.label, action.scopes);
      const scopes = action.scopes.length === 0 ? '' : ` with the scope ${action.scopes.join(', ')}`;
      io.err(`Key ${id} of the ${action.tier} tier${scopes}. It is shown only now:`);
      io.out(key);
      return EXIT_OK;
    }
    case 'list':
      for (const line of keyTable(store.list())) io.out(line);
      return EXIT_OK;
    case 'change': {
      const result = await store.changeTier(action.id, action.tier);
      if (result === 'NOT_FOUND') return noSuchKey(action.id, io);
      if (result === 'SELF') {
        io.err(`Key ${action.id} is of the self tier: its holder created it by a sign-in, and it stays in that tier.`);
        return EXIT_FAILED;
      }
      if (result === 'REVOKED') {
        io.err(`Key ${action.id} is revoked: create another.`);
        return EXIT_FAILED;
      }
      io.err(`Key ${action.id} is of the ${action.tier} tier${result === 'CHANGED' ? '' : ' already'}.`);
      return EXIT_OK;
    }
    case 'revoke': {
      const result = await store.revoke(action.id);
      if (result === 'NOT_FOUND') return noSuchKey(action.id, io);
      io.err(result === 'REVOKED' ? `Key ${action.id} is revoked.` : `Key ${action.id} was revoked before.`);
      return EXIT_OK;
    }
    case 'unprove': {
      const key = store.list().find(({ id }) => id === action.id);
      if (key === undefined) return noSuchKey(action.id, io);
      const count = await store.unprove(action.id);
      const kept = ` It keeps ${key.label}, which it was created for: \`keys revoke\` ends it.`;
      io.err(`Key ${action.id} has lost ${count} proven addresses.${key.tier === 'self' ? kept : ''}`);
      return EXIT_OK;
    }
  }
}

function noSuchKey(id: string, io: CommandIo): number {
  io.err(`There is no key ${id}: \`keys list\` shows the ids.`);
  return EXIT_FAILED;
}

function keyTable(keys: readonly KeyInfo[]): string[] {
  const head = ['id', 'tier', 'scopes', 'proven', 'created', 'revoked', 'label'];
  const rows = keys.map(({ id, tier, scopes, proven = [], createdAt, revokedAt, label }) => {
    const given = [scopes === undefined ? '-' : scopes.join(), String(proven.length)];
    return [id, tier, ...given, createdAt, revokedAt ?? '-', label];
  });
  return columns([head, ...rows]);
}
