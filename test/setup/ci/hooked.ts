/** A connection that takes webhooks, over the real door, for tests. */
import { request, type TestResponse, type TestServer } from '../server.ts';
import type { CiProvider } from '../../../server/connect/providers/words.ts';
import { waitFor } from '../wait-for.ts';
import { proof, type Sending } from './sender.ts';

type Row = Record<string, unknown>;
type Headers = Readonly<Record<string, string>>;

interface Webhook {
  readonly provider: CiProvider;
  readonly connectionId: string;
  readonly hookId: string;
  readonly secret: string;
  /** Address that the webhook is sent to, which for Jenkins has the secret in it. */
  readonly url: string;
}

export interface Hooked extends Webhook {
  /** Sends a payload as the provider does; a text is sent as it stands. */
  send(payload: unknown, headers?: Headers, sending?: Partial<Sending>): Promise<TestResponse>;
  /** Sends what is taken, and returns how it is listed once it was read. */
  deliver(payload: unknown, headers?: Headers, sending?: Partial<Sending>): Promise<Row | undefined>;
  /** The newest deliveries, once none of them waits. */
  deliveries(): Promise<readonly Row[]>;
  /** Returns how each of them ended. */
  states(): Promise<readonly unknown[]>;
  /** The run of this name, or what is answered in its place. */
  run(externalRunId: string, attempt?: number): Promise<Row>;
  /** The same with its next secret. */
  rotate(body?: object): Promise<Hooked>;
  /** The same for whoever has another secret or address. */
  with(other: Partial<Webhook>): Hooked;
}

export async function hook(
  server: TestServer,
  provider: CiProvider,
  {
    as,
    teamId = server.first.teamId,
    ...more
  }: { as?: string; teamId?: string; [field: string]: unknown } = {},
): Promise<Hooked> {
  const body = {
    provider,
    repositoryHost: `${provider}.example.com`,
    repositoryPath: 'acme/app',
    ingestMode: 'webhook',
    ...more,
  };
  const made = await server.call(`POST /teams/${teamId}/ci/connections`, {
    as: as ?? server.first.apiKey,
    body,
  });
  if (made.status !== 201) throw new Error(`connection answered ${made.text}`);
  const webhook = { provider, connectionId: String(made.body['id']), hookId: '', secret: '', url: '' };
  return await hookedOf(server, webhook, as).rotate();
}

function hookedOf(server: TestServer, webhook: Webhook, owner: string | undefined): Hooked {
  const { provider, connectionId, secret, url } = webhook;
  const as = owner ?? server.first.apiKey;
  const listed = `GET /ci/connections/${connectionId}/deliveries?limit=200`;
  const deliveries = async () =>
    await waitFor(
      'deliveries that were all read',
      async () =>
        (await server.call(listed, { as: owner ?? server.first.staffApiKey })).body['deliveries'] as Row[],
      { holds: (all) => all.every(({ state }) => state !== 'received') },
    );
  const send: Hooked['send'] = async (payload, headers = {}, sending = {}) => {
    const body = typeof payload === 'string' ? payload : JSON.stringify(payload);
    return await post(url, body, { ...proof({ provider, secret, ...sending }, body), ...headers });
  };
  return {
    ...webhook,
    send,
    deliver: async (...sent) => {
      const { status, text } = await send(...sent);
      if (status !== 202) throw new Error(`the webhook was answered with ${status}: ${text}`);
      return (await deliveries())[0];
    },
    deliveries,
    states: async () => (await deliveries()).map(({ state }) => state),
    run: async (externalRunId, attempt = 1) => {
      const name = encodeURIComponent(`${connectionId}:${attempt}:${externalRunId}`);
      return (await server.call(`GET /ci/runs/${name}`, { as })).body;
    },
    rotate: async (body = {}) => {
      const path = `/ci/connections/${connectionId}/webhook/rotate-secret`;
      const rotated = await server.call(`POST ${path}`, { as, body });
      if (rotated.status !== 200) throw new Error(`rotation answered ${rotated.text}`);
      const fresh = rotated.body as { webhook: { id: string }; secret: string; url: string };
      const {
        webhook: { id: hookId },
        secret: next,
        url: at,
      } = fresh;
      return hookedOf(server, { provider, connectionId, hookId, secret: next, url: at }, owner);
    },
    with: (other) => hookedOf(server, { ...webhook, ...other }, owner),
  };
}

export const post = async (url: string, body: string, headers: Headers): Promise<TestResponse> =>
  await request('', `POST ${url}`, { body, headers });
