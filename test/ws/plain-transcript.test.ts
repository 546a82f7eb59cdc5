import { readFileSync } from 'node:fs';
import t from 'tap';
import { eachBackend, serve } from '../net/serving.js';
import { GatewayFixture } from './gateway-fixture.js';
import { acts, SOCKETS } from './plain-script.js';
import { WsClient } from './ws-client.js';

/** A message to a client: `act` is the index of the script's step that made the server send it. */
interface Line {
  readonly act: number;
  readonly socket: number;
  readonly text: string;
}

/** As it was recorded from the server before it knew any subprotocol. */
const transcript = readFileSync(new URL('../../../test/vectors/plain-transcript.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Line);

eachBackend(t, async (t, backend) => {
  t.test('plain connections are sent byte for byte what they were before there were others', async (t) => {
    const fixture = new GatewayFixture();
    const { server, wsUrl } = await serve(t, backend, { sockets: fixture.gateway });
    fixture.publish = (...message) => server.publish(...message);
    const clients: WsClient[] = [];
    while (clients.length < SOCKETS) clients.push(await WsClient.connect(wsUrl));
    for (const [place, act] of acts.entries()) {
      if ('happens' in act) fixture.tell(...act.happens);
      else clients[act.socket]?.says(act.says);
      for (const { socket, text } of transcript.filter((line) => line.act === place)) {
        const told = await clients[socket]?.nextText();
        if (told !== text) t.fail(`act ${place}, socket ${socket}`, { found: told, wanted: text });
      }
    }
    for (const client of clients) t.strictSame(await client.rest(), [], 'and nothing besides');
    t.ok(transcript.length > 300, `${transcript.length} frames`);
  });
});
