/** Entry of the thread that finds reasons in output, which is anybody's text, one at a time. */
import { parentPort } from 'node:worker_threads';
import { failureSignature, type FailureText } from '@svc/sdk/failure-signature';

const port = parentPort;
if (port === null) throw new Error('this file is a reading thread of the server and is not started by hand');

port.on('message', (of: FailureText) => {
  void failureSignature(of).then((found) => port.postMessage({ found }));
});
