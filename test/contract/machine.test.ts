/**
 * The same matrix for those who are not people: every machine RPC without a signature, with a bearer key
 * instead, with a foreign key, in another runner's name and after revocation; every internal RPC without and
 * with the wrong token. Made from the contract as well.
 */
import * as grpc from '@grpc/grpc-js';
import { rpcs } from '@svc/proto/gen/rpcs.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createIndependentRunner, type IndependentRunner } from '../e2e/independent-runner.ts';
import { startPlatform, startSplit, type Platform } from '../e2e/platform.ts';
import { has } from '../setup/needs.ts';
import { freePort } from '../setup/registry.ts';

const signed = rpcs.filter(({ audience, auth }) => audience === 'runner' && auth === 'runner');
const internal = rpcs.filter(({ audience }) => audience === 'internal');
const partsThere = (await has('postgres')) && (await has('rabbitmq'));

/** Least valid bodies, so that what is refused is the caller and not the request. */
const LOGS = { id: 'run_00000000000000000000000000', epoch: 1 };
const REPORT = { ...LOGS, reportId: 'report-0001', reason: 'exit' };
const BODIES: Readonly<Record<string, unknown>> = {
  logs: LOGS,
  'build-logs': LOGS,
  'logs-of-many': { logs: [LOGS] },
  report: REPORT,
  'build-report': REPORT,
  'reports-of-many': { reports: [REPORT] },
};

const actionOf = (template: string) => template.split('/').at(-1) ?? '';

let platform: Platform;
let runner: IndependentRunner;
let runnerId: string;
let otherId: string;
let teamId: string;

const post = async (path: string, headers: Record<string, string> = {}) => {
  const response = await fetch(`${platform.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: '{}',
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
};

beforeAll(async () => {
  platform = await startPlatform({}, 'machine');
  teamId = await platform.customerTeam('machines');
  const enroll = async (name: string) => {
    const made = createIndependentRunner(platform.url);
    const { token } = await platform.sdk.runners.createEnrollToken(teamId);
    return { made, id: await made.enroll(token, name) };
  };
  ({ made: runner, id: runnerId } = await enroll('first'));
  ({ id: otherId } = await enroll('second'));
}, 120_000);

afterAll(async () => await platform?.stop());

describe('signed RPCs', () => {
  for (const { id, routes } of signed) {
    const action = actionOf(routes[0]?.template ?? '');

    it(`${id} refuses who does not sign`, async () => {
      const path = `/runners/${runnerId}/${action}`;
      expect(await post(path)).toMatchObject({ status: 401, body: { error: { code: 'signature_missing' } } });
      const bearer = { authorization: `Bearer ${platform.bootstrap.apiKey}` };
      expect(await post(path, bearer)).toMatchObject({
        status: 401,
        body: { error: { code: 'signature_missing' } },
      });
    });

    const unknown = action.endsWith('poll')
      ? { status: 200, body: {} }
      : { status: 401, body: { error: { code: 'key_unknown' } } };

    it(`${id} does nothing for a key that nobody enrolled`, async () => {
      const stranger = createIndependentRunner(platform.url);
      stranger.actAs(runnerId);
      expect(await stranger.call(action, {})).toMatchObject(unknown);
    });

    it(`${id} gives another runner's name the answer of a missing one`, async () => {
      const mine = await runner.callAs(otherId, action, BODIES[action] ?? {});
      const missing = await runner.callAs('rnr_00000000000000000000000000', action, BODIES[action] ?? {});
      expect(mine).toMatchObject(unknown);
      const text = ({ body }: { body: unknown }) => JSON.stringify(body).replace(/"requestId":"[^"]*"/, '');
      expect(text(mine)).toBe(text(missing));
    });
  }

  it('refuses an enrollment token that is unknown, and one that was used', async () => {
    const stranger = createIndependentRunner(platform.url);
    await expect(stranger.enroll('enr_unknown', 'third')).rejects.toThrow(/token_invalid/);
    const { token } = await platform.sdk.runners.createEnrollToken(teamId);
    await createIndependentRunner(platform.url).enroll(token, 'third');
    await expect(stranger.enroll(token, 'fourth')).rejects.toThrow(/token_invalid/);
  });

  it('refuses every call of a revoked runner, and says so to it alone', async () => {
    await platform.sdk.runners.revoke(teamId, runnerId);
    for (const { id, routes } of signed) {
      const answer = await runner.call(actionOf(routes[0]?.template ?? ''), {});
      expect(answer, id).toMatchObject({ status: 401, body: { error: { code: 'runner_revoked' } } });
    }
    const forged = await runner.call(
      'heartbeat',
      {},
      (headers) => (headers['signature'] = `sig1=:${Buffer.alloc(64, 1).toString('base64')}:`),
    );
    expect(forged).toMatchObject({ status: 401, body: { error: { code: 'signature_invalid' } } });
  });
});

describe.runIf(partsThere)('internal RPCs', () => {
  let split: Platform;
  let port: number;

  beforeAll(async () => {
    port = await freePort();
    split = await startSplit(port, 'matrix-internal-token-01');
  }, 120_000);

  afterAll(async () => await split?.stop());

  /** Gives status and words: an enrollment token that is unknown has the status of a caller who is. */
  const outcomeOf = (id: string, token: string | undefined) => {
    const client = new grpc.Client(`127.0.0.1:${port}`, grpc.credentials.createInsecure());
    const metadata = new grpc.Metadata();
    if (token !== undefined) metadata.set('authorization', `Bearer ${token}`);
    const raw = (bytes: Uint8Array) => Buffer.from(bytes);
    return new Promise<{ code: grpc.status; details: string }>((resolve) => {
      client.makeUnaryRequest(`/${id}`, raw, raw, new Uint8Array(), metadata, (error) => {
        client.close();
        resolve({ code: error?.code ?? grpc.status.OK, details: error?.details ?? '' });
      });
    });
  };

  for (const { id } of internal) {
    it(`${id} refuses who does not hold the token`, async () => {
      const refused = await outcomeOf(id, undefined);
      expect(refused.code).toBe(grpc.status.UNAUTHENTICATED);
      expect(await outcomeOf(id, 'matrix-internal-token-02')).toEqual(refused);
      expect(await outcomeOf(id, 'matrix-internal-token-01')).not.toEqual(refused);
    });

    it(`${id} is not on the public port`, async () => {
      const response = await fetch(`${split.url}/${id}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{}',
      });
      expect(response.status).toBe(404);
    });
  }
});
