import { parentPort } from 'node:worker_threads';
import { loadSecp256k1, PACKED_BYTES, PackedVerifier } from './secp256k1.js';
import { SHUT_DOWN, type SignatureAnswer, type SignatureJob } from './signature-pool.js';

/**
 * The thread's whole life: one job after the other, in the order in which they come, until there are no more.
 * `SignaturePool` starts it.
 */
const verifier = new PackedVerifier(await loadSecp256k1());

parentPort?.on('message', (job: SignatureJob | typeof SHUT_DOWN) => {
  if (job === SHUT_DOWN) {
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
