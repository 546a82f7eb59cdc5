import { effectiveLimits } from '../config/effective-limits.js';
import { profileNamed, withEndpoints } from '../config/profile-file.js';
import { readWalletKey } from '../config/wallet-key.js';
import type { Finding } from '../app/doctor.js';
import { spareDescriptors, systemClock, systemRandom } from '../system/clock.js';
import { flagsHelp, parseFlags, settingFlags, validSettings } from './flags.js';
import { type CliCommand, EXIT_FAILED, EXIT_OK, EXIT_USAGE } from './run.js';

const help = `quotebook doctor [--json] [FLAGS]

Compares the settings with the chains and the machine, before a start or beside a running service. Asks each endpoint for
its chain, its speed, the methods that the service calls and how many blocks of logs it gives; each contract, token and
vault of the profile for an answer that only the right one gives; compares the clock with the newest blocks; looks at the
wallet's balances, the data directory's room and sync speed, and the limit of open files. Each finding says what to do.
Exits with 0 if nothing fails (warnings do not count), 1 if something does, 2 if the settings are wrong.

  --json
      Print one line of JSON: whether all is well, and the findings.
${flagsHelp()}`;

export const doctorCommand: CliCommand = {
  name: 'doctor',
  summary: 'compare the settings with the chains and the machine',
  help,
  async run(words, io) {
    const parsed = parseFlags(words, { ...settingFlags(), json: 'switch' });
    const settings = await validSettings('doctor', parsed, io);
    if (settings === null) return EXIT_USAGE;
    const isLocal = settings.profile === 'local';
    const key = await readWalletKey(settings, io.readText);
    const { privateKeyToAddress } = await import('viem/accounts');
    const { examine } = await import('../app/doctor.js');
    const findings = await examine({
      settings,
      limits: effectiveLimits(settings),
      profile: isLocal ? null : withEndpoints(await profileNamed(settings.profile, io.readText), settings),
      walletAddress: key === null ? null : privateKeyToAddress(key),
      clock: systemClock,
      random: systemRandom,
      descriptors: spareDescriptors(),
      nodeVersion: process.version,
      onStep: (name) => io.showStatus?.(`looking at ${name}`),
    });
    io.showStatus?.('');
    const isWell = findings.every(({ level }) => level !== 'FAIL');
    if (parsed.switches.has('json')) io.out(JSON.stringify({ ok: isWell, findings }));
    else for (const line of findings.flatMap(shown)) io.out(line);
    return isWell ? EXIT_OK : EXIT_FAILED;
  },
};

function shown({ check, level, message, remedy }: Finding): string[] {
  const head = `${level.padEnd(4)}  ${check.padEnd(9)}  ${message}`;
  return remedy === null ? [head] : [head, `${' '.repeat(17)}→ ${remedy}`];
}
