/**
 * This benchmark measures the memory of an idle long poll: 10,000 signed polls are parked on one gateway,
 * beside a bare node http server that just keeps as many requests open. Each is a process of its own; the
 * figure is the growth of its resident memory for each open request, sockets included. While the polls stand,
 * 200 items a second go through the same gateway to 50 other runners; before them the same load went through
 * it alone. All of it is done once with the platform in one process, as it comes, and once with the gateway
 * as a process of its own.
 */
import { connect, type Socket } from 'node:net';
import { createNonce, generateSigningKey, type SigningKey } from '@svc/proto/signature/keys.ts';
import { signRequest } from '@svc/proto/signature/sign.ts';
import { enrollFleet } from './fleet.ts';
import { figure, percentile, type Figure } from './figure.ts';
import { createJsonClient, type JsonClient } from './client.ts';
import { freshDatabase } from './database.ts';
import { freePort, METRICS_TOKEN, startLayout, type Layout } from './layout.ts';
import { resident } from './resident.ts';
import type { Platform } from '../e2e/platform.ts';
import { startProgram, type Program } from '../e2e/processes.ts';
import { waitFor } from '../setup/wait-for.ts';

const POLLS = 10_000;
/** A gateway parks at most 16 polls of one runner. */
const POLLS_PER_RUNNER = 10;
const OPEN_AT_ONCE = 200;

/** Opens the requests, each on a socket of its own, and leaves them open. */
async function open(port: number, requests: readonly string[]): Promise<Socket[]> {
  const sockets: Socket[] = [];
  for (let from = 0; from < requests.length; from += OPEN_AT_ONCE) {
    await Promise.all(
      requests.slice(from, from + OPEN_AT_ONCE).map(
        (request) =>
          new Promise<void>((resolve, reject) => {
            const socket = connect({ host: '127.0.0.1', port }, () => socket.write(request, () => resolve()));
            socket.on('error', reject);
            socket.on('data', (data) =>
              reject(new Error(`a poll was answered at once: ${data.toString().slice(0, 500)}`)),
            );
            sockets.push(socket);
          }),
      ),
    );
  }
  return sockets;
}

function requestText(
  port: number,
  path: string,
  { headers, body }: { readonly headers: Record<string, string>; readonly body: string },
): string {
  const all = {
    host: `127.0.0.1:${port}`,
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    ...headers,
  };
  return `POST ${path} HTTP/1.1\r\n${Object.entries(all)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')}\r\n${body}`;
}

async function bytesPerPoll(
  program: Program,
  port: number,
  {
    requests,
    parked,
    meanwhile = async () => undefined,
  }: {
    readonly requests: readonly string[];
    readonly parked: () => Promise<boolean>;
    readonly meanwhile?: () => Promise<void>;
  },
): Promise<number> {
  const before = resident(program);
  const sockets = await open(port, requests);
  await waitFor('all requests to be parked', async () => ((await parked()) ? true : undefined), {
    withinMs: 60_000,
  });
  const bytes = ((resident(program) - before) * 1_048_576) / requests.length;
  await meanwhile();
  for (const socket of sockets) socket.destroy();
  return bytes;
}

async function bareNode(): Promise<number> {
  const port = await freePort();
  const program = startProgram('test/bench/reference/parked.mjs', [String(port)]);
  await program.says(/listening/);
  const requests = Array.from({ length: POLLS }, () =>
    requestText(port, '/poll', { headers: {}, body: '{"waitMs":50000}' }),
  );
  const parked = async () => Number(await (await fetch(`http://127.0.0.1:${port}/parked`)).text()) >= POLLS;
  try {
    return await bytesPerPoll(program, port, { requests, parked });
  } finally {
    await program.stop();
  }
}

interface PollingRunner {
  readonly id: string;
  readonly key: SigningKey;
}

function signedPoll(port: number, { id, key }: PollingRunner): string {
  const path = `/runners/${id}/poll`;
  const body = '{"waitMs":50000}';
  const signature = signRequest(
    {
      method: 'POST',
      authority: `127.0.0.1:${port}`,
      path,
      contentType: 'application/json',
      body: Buffer.from(body),
    },
    { key, created: Math.floor(Date.now() / 1000), nonce: createNonce() },
  );
  return requestText(port, path, { headers: { ...signature }, body });
}

interface Measured {
  readonly bytes: number;
  /** Milliseconds from submit to offer, with the gateway to themselves and beside the parked polls. */
  readonly alone: readonly number[];
  readonly beside: readonly number[];
}

async function measure(layout: Layout): Promise<Measured> {
  await using database = await freshDatabase();
  const { platform, gateway, port, stop } = await startLayout(layout, database.url);
  const url = `http://127.0.0.1:${port}`;
  const client = createJsonClient(url, 8);
  try {
    const fleet = await enrollFleet(platform, url);
    const alone = await fleet.dispatch();
    let beside: number[] = [];
    const runners = await enrollIdle(platform, client);
    const requests = runners.flatMap((runner) =>
      Array.from({ length: POLLS_PER_RUNNER }, () => signedPoll(port, runner)),
    );
    const parked = async () => {
      const metrics = await (
        await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${METRICS_TOKEN}` } })
      ).text();
      const counts = [...metrics.matchAll(/^svc_gateway_polls_parked(?:\{[^}]*\})? (\d+)$/gm)].map((match) =>
        Number(match[1]),
      );
      return counts.reduce((sum, count) => sum + count, 0) >= POLLS;
    };
    const bytes = await bytesPerPoll(gateway, port, {
      requests,
      parked,
      meanwhile: async () => {
        beside = await fleet.dispatch();
      },
    });
    fleet.close();
    return { bytes, alone, beside };
  } finally {
    client.close();
    await stop();
  }
}

/** Runners of a team that has no work. */
async function enrollIdle(platform: Platform, client: JsonClient): Promise<PollingRunner[]> {
  const teamId = await platform.customerTeam('bench');
  const runners: PollingRunner[] = [];
  for (let index = 0; index < POLLS / POLLS_PER_RUNNER; index += 1) {
    const { token } = await platform.sdk.runners.createEnrollToken(teamId);
    const key = generateSigningKey();
    const { status, body } = await client.post('/runners/enroll', {
      token,
      name: `bench-${index}`,
      publicKey: key.publicKey,
    });
    if (status !== 201) throw new Error(`enroll answered ${status}: ${JSON.stringify(body)}`);
    runners.push({ id: String(body['runnerId']), key });
  }
  return runners;
}

export async function run(): Promise<Figure[]> {
  const reference = await bareNode();
  const figures: Figure[] = [];
  for (const layout of ['one process', 'gateway of its own'] as const) {
    const ours = await measure(layout);
    figures.push(
      figure({
        name: `idle poll, ${POLLS} on one gateway, ${layout}`,
        value: ours.bytes / 1024,
        unit: 'KB each',
        reference: 'bare node http',
        referenceValue: reference / 1024,
        target: '≤ 1.5 ×',
        pass: (_, ratio) => ratio <= 1.5,
      }),
      figure({
        name: `submit → offer, 200/s to 50 runners beside them, ${layout}, p99`,
        value: percentile(ours.beside, 0.99),
        unit: 'ms',
        reference: 'the same without idle polls',
        referenceValue: percentile(ours.alone, 0.99),
        target: '≤ 1.5 ×',
        pass: (_, ratio) => ratio <= 1.5,
      }),
    );
  }
  return figures;
}
