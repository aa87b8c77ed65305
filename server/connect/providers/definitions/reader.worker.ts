/**
 * Entry of a thread that reads files of repositories, one at a time. It is ended from outside when a file
 * takes too long or too much.
 */
import { parentPort } from 'node:worker_threads';
import type { DefinitionFile } from './definitions.ts';
import { resultOfFile } from './results.ts';

const port = parentPort;
if (port === null) throw new Error('this file is a reading thread of the server and is not started by hand');

port.on('message', (file: DefinitionFile) => port.postMessage(resultOfFile(file)));
