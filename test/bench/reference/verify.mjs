/**
 * This is the reference of the benchmark of statements: a bare node server verifies signatures at each
 * request, and does nothing else.
 */
import { createPublicKey, verify } from 'node:crypto';
import { createServer } from 'node:http';

/** The argument is `[{bytes, signature, key}]`, in base64 and PEM. */
const signed = JSON.parse(process.argv[2]).map(({ bytes, signature, key }) => ({
  bytes: Buffer.from(bytes, 'base64'),
  signature: Buffer.from(signature, 'base64'),
  key: createPublicKey(key),
}));

const server = createServer((_request, response) => {
  const isRight = signed.every(({ bytes, signature, key }) => verify('sha256', bytes, key, signature));
  response.writeHead(isRight ? 200 : 500, { 'content-length': 0 });
  response.end();
});
server.listen(0, '127.0.0.1', () => console.log(`listening on http://127.0.0.1:${server.address().port}`));
