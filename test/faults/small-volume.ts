import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, statfsSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Test } from 'tap';

/** The file systems whose power can be cut, with what makes one in a file. */
const MAKERS = { ext4: ['mkfs.ext4', '-q', '-m', '0'], xfs: ['mkfs.xfs', '-q'] } as const;
export type FileSystem = keyof typeof MAKERS;

/**
 * EXT4_IOC_SHUTDOWN of Linux, with EXT4_GOING_FLAGS_NOLOGFLUSH: what is in memory, journal included, never reaches the
 * disk. XFS took the same numbers for its XFS_IOC_GOINGDOWN before.
 */
const SHUTDOWN_IOCTL = 0x8004587d;
const NO_LOG_FLUSH = 2;

/** Programs that can do an ioctl, each told the request, its number and the directory. Perl is part of every Debian. */
const IOCTL_PROGRAMS: readonly (readonly [program: string, script: string])[] = [
  ['perl', 'sysopen(D, $ARGV[2], 0) or die $!; my $f = pack("I", $ARGV[1]); defined(ioctl(D, $ARGV[0], $f)) or die $!'],
  [
    'python3',
    'import fcntl, os, struct, sys; fcntl.ioctl(os.open(sys.argv[3], os.O_RDONLY), int(sys.argv[1]), struct.pack("I", int(sys.argv[2])))',
  ],
];
const SCRIPT_FLAG = { perl: '-e', python3: '-c' } as Readonly<Record<string, string>>;

/** A file system of its own in a file, mounted: small enough to be filled, and its power can be cut. */
export class SmallVolume {
  /** Where it is mounted. */
  readonly path: string;
  readonly #image: string;
  #isMounted = false;

  /** Gone after the test. A string says why there can be none here. */
  static make(t: Test, mebibytes: number, fileSystem: FileSystem = 'ext4'): SmallVolume | string {
    if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'only root on Linux can mount a volume';
    const directory = mkdtempSync(path.join(tmpdir(), 'quotebook-volume-'));
    const volume = new SmallVolume(directory);
    t.teardown(() => {
      volume.unmount();
      rmSync(directory, { recursive: true });
    });
    try {
      writeFileSync(volume.#image, '');
      truncateSync(volume.#image, mebibytes << 20);
      const [program, ...words] = MAKERS[fileSystem];
      run(program, [...words, volume.#image]);
      volume.mount();
      return volume;
    } catch (error) {
      return `no ${fileSystem} in a file can be mounted here: ${(error as Error).message.split('\n').slice(0, 2).join(' ')}`;
    }
  }

  private constructor(directory: string) {
    this.#image = path.join(directory, 'image');
    this.path = path.join(directory, 'mounted');
    mkdirSync(this.path);
  }

  mount(): void {
    run('mount', ['-o', 'loop', this.#image, this.path]);
    this.#isMounted = true;
  }

  unmount(): void {
    if (!this.#isMounted) return;
    run('umount', [this.path]);
    this.#isMounted = false;
  }

  /**
   * Loses everything that is not on the disk by now; every use of the volume fails with EIO until the next mount.
   */
  cutPower(): void {
    const faults: string[] = [];
    for (const [program, script] of IOCTL_PROGRAMS) {
      try {
        run(program, [SCRIPT_FLAG[program] ?? '', script, String(SHUTDOWN_IOCTL), String(NO_LOG_FLUSH), this.path]);
        return;
      } catch (error) {
        faults.push((error as Error).message);
      }
    }
    throw new Error(`the power could not be cut: ${faults.join('; ')}`);
  }

  get freeBytes(): number {
    const { bavail, bsize } = statfsSync(this.path);
    return bavail * bsize;
  }
}

function run(program: string, words: readonly string[]): void {
  const env = { ...process.env, PATH: `${process.env.PATH ?? ''}:/usr/sbin:/sbin` };
  execFileSync(program, words, { env, stdio: ['ignore', 'ignore', 'pipe'] });
}
