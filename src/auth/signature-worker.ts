import { parentPort } from 'node:worker_threads';
import { loadSecp256k1, PACKED_BYTES, PackedVerifier } from './secp256k1.js';
import { NO_MORE, type SignatureAnswer, type SignatureJob } from './signature-pool.js';

/**
 * The thread's whole life: one job after the other, in the order in which they come, until there are no more.
 * `SignaturePool` starts it.
 */
const verifier = new PackedVerifier(await loadSecp256k1());

parentPort?.on('message', (job: SignatureJob | typeof NO_MORE) => {
  if (job === NO_MORE) {
    parentPort?.close();
    return;
  }
  const { id, bytes } = job;
  const packed = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const verdicts = new Uint8Array(packed.length / PACKED_BYTES);
  for (let i = 0; i < verdicts.length; i++) verdicts[i] = verifier.verifyAt(packed, i * PACKED_BYTES) ? 1 : 0;
  const answer: SignatureAnswer = { id, verdicts };
  parentPort?.postMessage(answer, [verdicts.buffer]);
});
