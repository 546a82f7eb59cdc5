import path from 'node:path';
import { chmodSync } from 'node:fs';
import t from 'tap';
import { natsServers } from './nats-servers.js';

/** Answers of the leader until it sees every server. */
const BLIND_ANSWERS = 3;

/** Says of itself what a nats-server does that is healthy, and whose leader n1 has not heard from n3 yet. */
const SERVER = `#!${process.execPath}
import { readFileSync } from 'node:fs';
import http from 'node:http';

const [, , flag, file] = process.argv;
if (flag === '--version') console.log('nats-server: v2.10.0');
else {
  const port = Number(/^http: 127.0.0.1:([0-9]+)/m.exec(readFileSync(file, 'utf8'))[1]);
  let asked = 0;
  http
    .createServer(({ url }, response) => {
      if (url === '/healthz') return response.end('{"status":"ok"}');
      if (url === '/asked') return response.end(String(asked));
      asked += 1;
      const isSeen = asked > ${BLIND_ANSWERS};
      const replicas = [
        { name: 'n2', current: true },
        { name: 'n3', current: isSeen, offline: !isSeen },
      ];
      response.end(JSON.stringify({ meta_cluster: { leader: 'n1', replicas } }));
    })
    .listen(port, '127.0.0.1');
}
`;

t.test('servers are ready once their leader is in reach of each of them', async (t) => {
  const program = path.join(t.testdir({ 'nats-server.mjs': SERVER }), 'nats-server.mjs');
  chmodSync(program, 0o755);
  const given = process.env.NATS_SERVER;
  process.env.NATS_SERVER = program;
  t.teardown(() => {
    if (given === undefined) delete process.env.NATS_SERVER;
    else process.env.NATS_SERVER = given;
  });
  const { nodes } = await natsServers(t);
  const answers = await (await fetch(`${nodes[0]?.monitorUrl}/asked`)).text();
  t.equal(Number(answers), BLIND_ANSWERS + 1);
});
