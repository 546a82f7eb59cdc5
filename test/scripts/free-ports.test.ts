import { readFileSync } from 'node:fs';
import t from 'tap';
import { freePort } from '../free-port.js';

const RANGE = '/proc/sys/net/ipv4/ip_local_port_range';

t.test(
  'a free port is none that the system gives to connections',
  { skip: process.platform !== 'linux' && `there is no ${RANGE} here` },
  async (t) => {
    const [lowest = ''] = readFileSync(RANGE, 'utf8').trim().split(/\s+/);
    const ports = await Promise.all(Array.from({ length: 20 }, freePort));
    t.ok(Math.max(...ports) < Number(lowest), `${ports.join()} are below ${lowest}`);
  },
);
