/**
 * Entry of the thread that reads files of repositories for templates, one at a time. It is ended from outside
 * when one takes too long or too much.
 */
import { parentPort } from 'node:worker_threads';
import { readDocument, type SourceFile } from './read-document.ts';

const port = parentPort;
if (port === null) throw new Error('this file is a reading thread of the server and is not started by hand');

port.on('message', (file: SourceFile) => port.postMessage(readDocument(file)));
