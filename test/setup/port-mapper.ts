/**
 * The part of Erlang's port mapper (epmd) that nodes and their tools need: they register, and ask where
 * another node listens. Which port that is told is the test's business.
 *
 * Each message has its length before it in two bytes; a registration lasts as long as its connection.
 */
import { createServer, type Socket } from 'node:net';

export type PortMapper = Awaited<ReturnType<typeof startPortMapper>>;

const ALIVE_REQUEST = 120;
const ALIVE_ANSWER = 118;
const PORT_REQUEST = 122;
const PORT_ANSWER = 119;
const NAMES_REQUEST = 110;
/** A hidden or a normal node of protocol version 5 or 6 over TCP. */
const NODE = { type: 77, protocol: 0, highest: 6, lowest: 5 } as const;

/** Starts a mapper. `portOf` knows the nodes of the test; others are known by what they registered. */
export async function startPortMapper(port: number, portOf: (name: string) => number | undefined) {
  const registered = new Map<string, { readonly port: number; readonly socket: Socket }>();
  const open = new Set<Socket>();
  let creation = 1;
  const answer = (message: Buffer, socket: Socket): void => {
    switch (message[0]) {
      case ALIVE_REQUEST: {
        const name = message.toString('utf8', 11, 11 + message.readUInt16BE(9));
        registered.set(name, { port: message.readUInt16BE(1), socket });
        socket.once('close', () => {
          if (registered.get(name)?.socket === socket) registered.delete(name);
        });
        creation += 1;
        const reply = Buffer.from([ALIVE_ANSWER, 0, 0, 0, 0, 0]);
        reply.writeUInt32BE(creation, 2);
        return void socket.write(reply);
      }
      case PORT_REQUEST: {
        const name = message.toString('utf8', 1);
        return void socket.end(portAnswer(name, portOf(name) ?? registered.get(name)?.port));
      }
      case NAMES_REQUEST: {
        const head = Buffer.alloc(4);
        head.writeUInt32BE(port);
        const lines = [...registered].map(([name, node]) => `name ${name} at port ${node.port}\n`);
        return void socket.end(Buffer.concat([head, Buffer.from(lines.join(''))]));
      }
      default:
        return void socket.destroy();
    }
  };
  const server = createServer((socket) => {
    let received = Buffer.alloc(0);
    open.add(socket);
    socket.on('close', () => open.delete(socket));
    socket.on('error', () => undefined); // A node that is killed.
    socket.on('data', (piece) => {
      received = Buffer.concat([received, piece]);
      if (received.length < 2 || received.length < 2 + received.readUInt16BE(0)) return;
      answer(received.subarray(2, 2 + received.readUInt16BE(0)), socket);
      received = Buffer.alloc(0);
    });
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return {
    close: async (): Promise<void> => {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of open) socket.destroy();
      await closed;
    },
  };
}

function portAnswer(name: string, port: number | undefined): Buffer {
  if (port === undefined) return Buffer.from([PORT_ANSWER, 1]);
  const text = Buffer.from(name);
  const answer = Buffer.alloc(14 + text.length);
  answer[0] = PORT_ANSWER;
  answer.writeUInt16BE(port, 2);
  answer[4] = NODE.type;
  answer[5] = NODE.protocol;
  answer.writeUInt16BE(NODE.highest, 6);
  answer.writeUInt16BE(NODE.lowest, 8);
  answer.writeUInt16BE(text.length, 10);
  text.copy(answer, 12);
  return answer;
}
