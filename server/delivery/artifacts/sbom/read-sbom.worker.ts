/**
 * Entry of the thread that reads SBOM documents, one at a time. It is ended from outside when one takes too
 * long or too much.
 */
import { parentPort } from 'node:worker_threads';
import { readSbom } from './read-sbom.ts';

const port = parentPort;
if (port === null) throw new Error('this file is a reading thread of the server and is not started by hand');

port.on('message', (bytes: Uint8Array) => port.postMessage(readSbom(bytes)));
