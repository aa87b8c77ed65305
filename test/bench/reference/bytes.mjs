/**
 * This is the reference of the benchmark of answers from memory: a bare node server sends the bytes it is
 * given, as JSON.
 */
import { createServer } from 'node:http';

const [body, etag] = process.argv.slice(2);

const server = createServer((request, response) => {
  if (request.headers['if-none-match'] === etag) {
    response.writeHead(304, { etag });
    response.end();
    return;
  }
  response.writeHead(200, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': body.length,
    etag,
  });
  response.end(body, 'latin1');
});
server.listen(0, '127.0.0.1', () => console.log(`listening on http://127.0.0.1:${server.address().port}`));
