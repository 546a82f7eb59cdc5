import { createRequire } from 'node:module';
import { answerQuestions, serverAnswers } from '../processes/answer-questions.js';
import type { ServerDialogue } from '../processes/dialogue.js';
import type { TellingDialogue } from '../servers/telling.js';
import { plainTelling } from './plain-telling.js';

export interface BareServerDialogue extends ServerDialogue, TellingDialogue {
  /** What every GET is answered with from now on. */
  ANSWER_WITH: { given: Uint8Array; answer: null };
}

/** uWebSockets.js and nothing else: a route that sends ready bytes, and sockets that join the topic that they name. */
const uws = createRequire(import.meta.url)('uWebSockets.js') as typeof import('uWebSockets.js');
let body = Buffer.alloc(0);

const app = uws
  .App()
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
  app.listen('127.0.0.1', 0, (socket) => resolve(uws.us_socket_local_port(socket)));
});

answerQuestions<BareServerDialogue>(
  {
    ...serverAnswers(port),
    ANSWER_WITH(bytes) {
      body = Buffer.from(bytes);
      return null;
    },
    ...plainTelling((topic, message) => void app.publish(topic, message, false)),
  },
  () => undefined,
);
