/**
 * The answers that nginx shows below `/.well-known/acme-challenge/`, each a file of a folder of its own, and
 * the look whether they arrive: a random one is read back by the name itself, before an authority is asked.
 */
import { randomBytes } from 'node:crypto';
import { mkdir, readdir } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import { removeIfThere, writeDurably } from '../disk/durable-file.ts';
import type { Solver } from './acme/issue.ts';
import { CHALLENGE_PATH } from './nginx/render.ts';

const TIMEOUT_MS = 5_000;
const READ_BYTES_MAX = 1_024;
/** The workers of nginx are another user. */
const READABLE = { file: 0o644, folder: 0o755 } as const;

export interface Place {
  name: string;
  address: string;
  port: number;
}

/** `unknown`: refused, timed out, redirected, or a fault; behind some routers no host reaches itself. */
export type ReadBack = 'ok' | 'wrong' | 'unknown';

/** @param dir The folder of nginx. */
export async function openChallenges(dir: string, stopped: AbortSignal) {
  const folder = join(dir, 'challenges', CHALLENGE_PATH);
  await mkdir(folder, { recursive: true, mode: READABLE.folder });
  for (const name of await readdir(folder)) await removeIfThere(join(folder, name));
  const show = async (token: string, text: string) => {
    await writeDurably(join(folder, token), text, READABLE.file);
    return async () => await removeIfThere(join(folder, token));
  };
  const solver: Solver = {
    type: 'http-01',
    show: async ({ token, keyAuthorization }) => await show(token, keyAuthorization),
  };
  return {
    solver,
    async readBack(place: Place): Promise<ReadBack> {
      const [token, text] = [randomBytes(24), randomBytes(24)].map((bytes) => bytes.toString('base64url'));
      const hide = await show(token ?? '', text ?? '');
      try {
        const signal = AbortSignal.any([stopped, AbortSignal.timeout(TIMEOUT_MS)]);
        return await read(place, { token: token ?? '', text: text ?? '', signal });
      } finally {
        await hide();
      }
    },
  };
}

export type Challenges = Awaited<ReturnType<typeof openChallenges>>;

interface Shown {
  token: string;
  text: string;
  signal: AbortSignal;
}

async function read({ name, address, port }: Place, { token, text, signal }: Shown) {
  return await new Promise<ReadBack>((resolve) => {
    const asked = request(
      {
        host: address,
        port,
        path: CHALLENGE_PATH + token,
        headers: { host: name },
        agent: false,
        signal,
      },
      (reply) => {
        let body = '';
        const { statusCode = 0 } = reply;
        const decide = () => {
          const isDefinite = statusCode === 200 || (statusCode >= 400 && statusCode < 500);
          resolve(statusCode === 200 && body === text ? 'ok' : isDefinite ? 'wrong' : 'unknown');
          asked.destroy();
        };
        reply.on('data', (part: Buffer) => {
          body += part.toString('latin1');
          if (body.length > READ_BYTES_MAX) decide();
        });
        reply.once('end', decide);
        reply.once('error', () => resolve('unknown'));
      },
    );
    asked.on('error', () => resolve('unknown'));
    asked.end();
  });
}
