import type { OpenLogOptions } from '../../src/persistence/recovery/open-log.js';
import { SeededRandom } from '../simulation/seeded-random.js';
import { SimClock } from '../simulation/sim-clock.js';
import { LogProcess } from '../simulation/simulated-log.js';
import { Workload } from '../simulation/workload.js';
import { SimDisk, type SimDiskOptions } from './sim-disk.js';

/** A simulated disk and time for one test, and a process that writes a log there. */
export class World {
  readonly clock = new SimClock();
  readonly random: SeededRandom;
  readonly disk: SimDisk;
  readonly workload: Workload;

  constructor(seed = 1, disk: Partial<SimDiskOptions> = {}) {
    this.random = new SeededRandom(seed);
    this.disk = new SimDisk({ clock: this.clock, random: this.random, ...disk });
    this.workload = new Workload(this.random);
  }

  start(options: Partial<OpenLogOptions> = {}): Promise<LogProcess> {
    return this.clock.until(LogProcess.start(this.disk, this.clock, this.random, options));
  }

  submit(process: LogProcess, records: number): void {
    for (let n = 0; n < records; n += 1) {
      if (this.workload.submitNext(process) === null) throw new Error('the log took no record');
    }
  }
}
