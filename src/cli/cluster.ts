import type { ServerState } from '../cluster/connection.js';
import type { MemberInfo } from '../cluster/members.js';
import { limits } from '../config/limits.js';
import { CLUSTER_SETTINGS } from '../config/setting-table.js';
import { flagsHelp, parseFlags, settingFlags, settingsFrom, printProblems } from './flags.js';
import { type CliCommand, EXIT_FAILED, EXIT_OK, EXIT_USAGE, columns, toIo, UsageError } from './run.js';

const help = `quotebook cluster status [--format text|json] [FLAGS]
quotebook cluster step-down [FLAGS]
quotebook cluster restore --from DATA_DIR [FLAGS]

status:    shows the members that answer, with their roles, what the log stream has, and, of the servers whose
           monitoring ports are given, whether they sync before they acknowledge.
step-down: has the leader end; a standby takes over. Part of a rolling restart.
restore:   rebuilds a log stream that is lost, or the rest of one, from the log in an engine's data directory, and
           compares the state hashes of both. Stop the engines first. Keys are created anew.

  --format
      How status prints it: text, or json in one line. Default: text.
  --from
      Data directory of the engine whose log restore takes.
${flagsHelp(CLUSTER_SETTINGS)}`;

const USAGE = 'say `cluster status`, `cluster step-down` or `cluster restore --from DATA_DIR`';
const ACTIONS: readonly (string | undefined)[] = ['status', 'step-down', 'restore'];
/** How long members have to answer. */
const ROLL_MS = 1_000;

export const clusterCommand: CliCommand = {
  name: 'cluster',
  summary: 'show a cluster, have its leader step down, or rebuild its log stream',
  help,
  async run(words, io) {
    const parsed = parseFlags(words, { ...settingFlags(CLUSTER_SETTINGS), format: 'value', from: 'value' });
    const [action, extra] = parsed.positionals;
    if (!ACTIONS.includes(action) || extra !== undefined) throw new UsageError(USAGE);
    const from = parsed.values.get('from');
    if ((action === 'restore') !== (from !== undefined)) throw new UsageError('`cluster restore` takes --from');
    const format = parsed.values.get('format') ?? 'text';
    if (format !== 'text' && format !== 'json') throw new UsageError('--format is text or json');
    const result = await settingsFrom(parsed, io);
    if (!result.ok) {
      printProblems(result.problems, io);
      return EXIT_USAGE;
    }
    const { connectByName, clusterStatus, restoreCluster } = await import('../app/cluster-admin.js');
    const { askStepDown } = await import('../cluster/members.js');
    const { clusterMonitors } = result.settings;
    const changes = {
      // A log stream is written as an engine writes it.
      ...(action === 'restore' && { role: 'engine' as const }),
      // Servers that do not sync are shown, not refused.
      ...(action === 'status' && { clusterMonitors: [] }),
    };
    const cluster = await connectByName({ ...result.settings, ...changes }, limits, io.readText);
    try {
      if (action === 'step-down') {
        await askStepDown(cluster);
        io.out('The leader steps down.');
        return EXIT_OK;
      }
      if (from !== undefined) {
        const report = await restoreCluster(cluster, limits, from, toIo(io));
        for (const [name, value] of Object.entries(report)) io.out(`${name} ${String(value)}`);
        return EXIT_OK;
      }
      const status = await clusterStatus(cluster, clusterMonitors, ROLL_MS);
      if (format === 'json') io.out(JSON.stringify(status));
      else {
        for (const line of memberTable(status.members)) io.out(line);
        for (const [name, value] of Object.entries(status.stream ?? {})) io.out(`${name} ${String(value)}`);
        for (const line of serverTable(status.servers)) io.out(line);
      }
      return status.members.some(({ role }) => role === 'leader') ? EXIT_OK : EXIT_FAILED;
    } finally {
      await cluster.close();
    }
  },
};

function memberTable(members: readonly MemberInfo[]): string[] {
  const head = ['member', 'role', 'term', 'index', 'lag', 'version'];
  const rows = members.map((info) => [
    info.member,
    info.role,
    ...[info.term, info.index, info.lag].map(String),
    info.version,
  ]);
  return columns([head, ...rows]);
}

/** Empty without servers. */
function serverTable(servers: readonly ServerState[]): string[] {
  const rows = servers.map(({ server, version, syncs }) => {
    if (version === null) return [server, 'no answer', '-'];
    return [server, version, syncs === true ? 'yes' : 'no'];
  });
  return rows.length === 0 ? [] : columns([['NATS server', 'version', 'syncs'], ...rows]);
}
