/**
 * Entry of the thread that opens large bundles, one at a time. It is ended from outside when one takes too
 * long or too much.
 */
import { parentPort } from 'node:worker_threads';
import { openLarge, type LargeQuestion } from './open-large.ts';

const port = parentPort;
if (port === null) throw new Error('this file is a reading thread of the server and is not started by hand');

port.on('message', async (question: LargeQuestion) => port.postMessage(await openLarge(question)));
