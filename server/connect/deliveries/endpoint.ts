/**
 * Providers send deliveries to `POST /ci/webhooks/{hook}`. Their origin is verified by the connection's
 * provider and scheme over the bytes as they came, before anything is read in them. 202 means that it is
 * stored, not that it was read: GitHub waits 10 s and never sends again, GitLab stops sending after four
 * failures, so whoever proves the secret gets no refusal for what the body holds.
 */
import { bounded } from '@svc/proto/process/bounded.ts';
import type { IncomingHttpHeaders } from 'node:http';
import type { FeatureKey } from '@svc/proto/features/manifest.ts';
import { apiError } from '@svc/proto/http/errors.ts';
import { gateRefusal } from '@svc/proto/http/feature-disabled.ts';
import type { Endpoint, EndpointRequest, PageResponse } from '@svc/proto/http/pages.ts';
import type { Clock } from '../../base/clock.ts';
import { mapDatabaseError, type Database } from '../../base/db/index.ts';
import type { FeatureGate } from '../../kit/feature-gate.ts';
import type { Secrets } from '../../base/secrets.ts';
import { clip, PROVIDERS, type CiProvider, type Verdict } from '../providers/index.ts';
import { createIntake, type Intake } from './intake.ts';
import { eventName, keptHeaders, payloadOf } from './payload.ts';
import { sharedRead } from '../../engine/work/index.ts';
import { openSecrets, webhookOfId, type Webhook } from '../connections/index.ts';

export interface WebhookEndpointDeps {
  readonly db: Database;
  readonly clock: Clock;
  readonly secrets: Secrets;
  readonly gate: FeatureGate;
  /** Something waits to be read. */
  onStored(): void;
}

/** GitHub sends up to 25 MB, for events that are not about runs. */
const BODY_BYTES_MAX = 5 * 1024 * 1024;
const FEATURE: FeatureKey = 'host.ci';
/** Jenkins has the secret in its address, behind the id. */
const VARIABLE = /^(cih_[0-9a-z]{26})(?:\.([\w-]{1,200}))?$/;
/** The longest id that the index of deliveries takes. */
const DELIVERY_ID_MAX = 500;

export function createWebhookEndpoint(deps: WebhookEndpointDeps): Readonly<Record<string, Endpoint>> {
  const hooks = createHooks(deps.db, deps.secrets, deps.clock);
  const intake = createIntake(deps.db.sql, deps.onStored);
  const take = async (request: EndpointRequest): Promise<PageResponse> => {
    refuseUnlessOpen(deps.gate);
    const [, id, urlToken] = VARIABLE.exec(request.variable) ?? [];
    const known = id === undefined ? undefined : await hooks.find(id);
    if (id === undefined || known === undefined) throw noWebhook();
    const body = await request.body(BODY_BYTES_MAX);
    const { headers } = request.request;
    const verify = (hook: Hook): Verdict =>
      PROVIDERS[hook.provider].verify({ headers, ...hook, rawBody: body, now: deps.clock.now(), urlToken });
    let hook: Hook | undefined = known;
    let verdict = verify(hook);
    if (!verdict.ok) {
      // The secret may have been made after it was last looked up.
      hook = await hooks.read(id);
      if (hook === undefined || hook.secrets.length === 0) throw noWebhook();
      verdict = verify(hook);
    }
    if (!verdict.ok)
      throw apiError(
        'signature_invalid',
        `the webhook does not prove where it comes from: ${verdict.refused}`,
      );
    return await store(intake, hook, { headers, body });
  };
  return {
    '/ci/webhooks/{hook}': {
      verbs: ['POST'],
      serve: async (request) => {
        try {
          return await take(request);
        } catch (error) {
          throw mapDatabaseError(error);
        }
      },
    },
  };
}

function refuseUnlessOpen(gate: FeatureGate): void {
  const refusal = gateRefusal(gate.state(FEATURE), FEATURE);
  if (refusal !== undefined) throw refusal;
}

async function store(
  intake: Intake,
  { connectionId, teamId, provider }: Hook,
  { headers, body }: { readonly headers: IncomingHttpHeaders; readonly body: Uint8Array },
): Promise<PageResponse> {
  const payload = (): unknown => {
    const found = payloadOf(provider, body);
    return 'problem' in found ? undefined : found.payload;
  };
  const stored = await intake.store({
    connectionId,
    teamId,
    deliveryId: clip(PROVIDERS[provider].deliveryId(headers, body, payload), DELIVERY_ID_MAX),
    event: eventName(provider, headers),
    headers: keptHeaders(provider, headers),
    body,
  });
  if (stored === undefined) throw noWebhook();
  const { id, isNew, state, detail } = stored;
  // It is a success as well, because a provider that gets a refusal switches the webhook off.
  if (state === 'ignored' && detail !== null) return answer(200, { id, ignored: detail });
  if (!isNew) return answer(200, { id, duplicate: true });
  return answer(202, state === 'held' ? { id, held: detail } : { id });
}

function answer(status: number, body: object): PageResponse {
  return {
    status,
    headers: { 'content-type': 'application/json; charset=utf-8' },
    body: JSON.stringify(body),
  };
}

const noWebhook = (): Error =>
  apiError('not_found', 'no such webhook, or one that has no secret: a connection shows its own');

// Cache of the webhooks for the door, which keeps each for a second: a provider that sends a thousand events
// a second asks the database once. So a secret that is taken back is good for a second more at most; one that
// was just made is good at once, because a signature that fits no known secret is tried again with what the
// database has. Whether the connection is paused or takes webhooks at all is not remembered: the statement
// that stores a delivery asks.

export interface Hook {
  readonly connectionId: string;
  readonly teamId: string;
  readonly provider: CiProvider;
  readonly scheme: Webhook['scheme'];
  /** The secrets that were good when the row was read; empty: nothing is taken. */
  readonly secrets: readonly string[];
}

export interface Hooks {
  /** The webhook as it was at most a second ago. */
  find(id: string): Promise<Hook | undefined>;
  /** The webhook as it is. */
  read(id: string): Promise<Hook | undefined>;
}

const KEPT_MS = 1_000;
const KEPT_MAX = 10_000;

export function createHooks(db: Database, secrets: Pick<Secrets, 'open'>, clock: Clock): Hooks {
  const known = new Map<string, { readonly hook: Hook; readonly atMs: number }>();

  const query = async (id: string): Promise<Hook | undefined> => {
    const found = await webhookOfId(db, id);
    if (found === undefined) return undefined;
    const { webhook, provider } = found;
    const { connectionId, teamId, scheme } = webhook;
    const opened = openSecrets(secrets, webhook, clock.now());
    return { connectionId, teamId, provider, scheme, secrets: opened };
  };
  const read = async (id: string): Promise<Hook | undefined> => {
    const hook = await sharedRead(db.sql, `ci_webhook ${id}`, async () => await query(id));
    known.delete(id);
    if (hook === undefined) return undefined;
    bounded(known, KEPT_MAX).set(id, { hook, atMs: clock.monotonicMs() });
    return hook;
  };
  return {
    read,
    find: async (id) => {
      const kept = known.get(id);
      return kept !== undefined && clock.monotonicMs() - kept.atMs < KEPT_MS ? kept.hook : await read(id);
    },
  };
}
