/** A connection that takes webhooks, over the real door, for tests. */
import type { TestServer } from '../server.ts';
import type { CiProvider } from '../../../server/connect/providers/words.ts';
import { waitFor } from '../wait-for.ts';
import { proof } from './sender.ts';
import type { Sending } from './sender.ts';

export interface Hooked {
  readonly provider: CiProvider;
  readonly connectionId: string;
  readonly hookId: string;
  readonly secret: string;
  /** Address that the webhook is sent to, which for Jenkins has the secret in it. */
  readonly url: string;
}

export interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown>;
  readonly code: string | undefined;
}

const LIMIT_MS = 20_000;

export async function hook(
  server: TestServer,
  provider: CiProvider,
  {
    as = server.first.apiKey,
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
  const made = await server.call(`POST /teams/${teamId}/ci/connections`, { as, body });
  if (made.status !== 201) throw new Error(`connection answered ${made.text}`);
  return await rotate(server, provider, { connectionId: String(made.body['id']), as });
}

export async function rotate(
  server: TestServer,
  provider: CiProvider,
  {
    connectionId,
    as,
    body = {},
  }: { readonly connectionId: string; readonly as: string; readonly body?: object },
): Promise<Hooked> {
  const path = `/ci/connections/${connectionId}/webhook/rotate-secret`;
  const rotated = await server.call(`POST ${path}`, { as, body });
  if (rotated.status !== 200) throw new Error(`rotation answered ${rotated.text}`);
  const { webhook, secret, url } = rotated.body as { webhook: { id: string }; secret: string; url: string };
  return { provider, connectionId, hookId: webhook.id, secret, url };
}

export async function send(
  { provider, secret, url }: Pick<Hooked, 'provider' | 'secret' | 'url'>,
  payload: unknown,
  {
    headers = {},
    sending = {},
  }: {
    readonly headers?: Readonly<Record<string, string | undefined>>;
    readonly sending?: Partial<Sending>;
  } = {},
): Promise<Answer> {
  const body = typeof payload === 'string' ? payload : JSON.stringify(payload);
  return await post(url, body, { ...proof({ provider, secret, ...sending }, body), ...headers });
}

export async function post(
  url: string,
  body: string,
  headers: Readonly<Record<string, string | undefined>>,
): Promise<Answer> {
  const given = Object.entries(headers).filter((one): one is [string, string] => one[1] !== undefined);
  const response = await fetch(url, {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/json', ...Object.fromEntries(given) },
  });
  const text = await response.text();
  const parsed = (text === '' ? {} : JSON.parse(text)) as Record<string, unknown>;
  return {
    status: response.status,
    body: parsed,
    code: (parsed['error'] as { code?: string } | undefined)?.code,
  };
}

/** The newest deliveries, once none of them waits. */
export async function readDeliveries(
  server: TestServer,
  { connectionId }: Pick<Hooked, 'connectionId'>,
  as = server.first.staffApiKey,
): Promise<ReadonlyArray<Record<string, unknown>>> {
  const read = async (): Promise<ReadonlyArray<Record<string, unknown>>> => {
    const path = `/ci/connections/${connectionId}/deliveries?limit=200`;
    return (await server.call(`GET ${path}`, { as })).body['deliveries'] as Array<Record<string, unknown>>;
  };
  const holds = (all: ReadonlyArray<Record<string, unknown>>): boolean =>
    all.every(({ state }) => state !== 'received');
  return await waitFor('deliveries to be read', read, { holds, withinMs: LIMIT_MS });
}

export async function runNamed(
  server: TestServer,
  { connectionId }: Pick<Hooked, 'connectionId'>,
  { externalRunId, attempt = 1 }: { readonly externalRunId: string; readonly attempt?: number },
): Promise<Record<string, unknown>> {
  const name = encodeURIComponent(`${connectionId}:${attempt}:${externalRunId}`);
  return (await server.call(`GET /ci/runs/${name}`, { as: server.first.apiKey })).body;
}
