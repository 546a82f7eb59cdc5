import { limits } from '../../src/config/limits.js';
import { loadUws } from '../../src/net/uws/server.js';
import { answerQuestions, serverAnswers } from '../processes/answer-questions.js';
import type { ServerDialogue } from '../processes/dialogue.js';
import type { PublishDialogue } from '../servers/publish-schedule.js';
import { plainPublisher } from './plain-publisher.js';

export interface BareServerDialogue extends ServerDialogue, PublishDialogue {
  /** What every GET is answered with from now on. */
  ANSWER_WITH: { given: Uint8Array; answer: null };
}

/**
 * uWebSockets.js and nothing else, of the same version as the service's: a route that sends ready bytes, and sockets that
 * join the topic that they name.
 */
const load = loadUws(limits.headBytes);
if (!('module' in load)) throw new Error(`uWebSockets.js does not run here: ${load.unavailable}`);
const uws = load.module;
let body = Buffer.alloc(0);

const app = uws.App();
app
  .get('/*', (res) => {
    res.writeHeader('content-type', 'application/json').end(body);
  })
  .ws('/', {
    compression: 0,
    maxBackpressure: 64 << 20,
    idleTimeout: 960,
    message(ws, topic) {
      ws.subscribe(Buffer.from(topic).toString());
      ws.send('joined');
    },
  });
const port = await new Promise<number>((resolve) => {
  app.listen('127.0.0.1', 0, 0, (socket) => {
    if (socket === false) throw new Error('There is no free port');
    resolve(uws.us_socket_local_port(socket));
  });
});

answerQuestions<BareServerDialogue>(
  {
    ...serverAnswers(port),
    ANSWER_WITH(bytes) {
      body = Buffer.from(bytes);
      return null;
    },
    ...plainPublisher((topic, message) => void app.publish(topic, message, false)),
  },
  () => undefined,
);
