/** This is the reference of the poll benchmark: a bare node server reads a request and keeps it open. */
import { createServer } from 'node:http';

const parked = new Set();

const server = createServer((request, response) => {
  if (request.url === '/parked') {
    response.end(String(parked.size));
    return;
  }
  request.resume();
  request.on('end', () => parked.add(response));
  response.on('close', () => parked.delete(response));
});
server.listen(Number(process.argv[2]), '127.0.0.1', () => console.log('listening'));
