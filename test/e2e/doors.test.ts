/**
 * This is the whole story on one platform, through every door: curl at the documented paths, gRPC with
 * grpc-js, `buf curl` with gRPC, gRPC-Web and Connect, the SDK, the CLI, and a runner that was written from
 * the protocol's description alone.
 */
import { execFile, execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { create, fromBinary, toBinary, type DescMethod } from '@bufbuild/protobuf';
import * as grpc from '@grpc/grpc-js';
import { Validator } from '@seriousme/openapi-schema-validator';
import {
  ListRequestSchema,
  ListResponseSchema,
  RegionsService,
} from '@svc/proto/gen/svc/regions/v1/regions_pb.ts';
import { MANIFEST } from '@svc/proto/features/manifest.ts';
import { SandboxRunsService } from '@svc/proto/gen/svc/sandboxruns/v1/sandboxruns_pb.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { visibleContract } from '../../server/door/contract-page.ts';
import { createIndependentRunner } from './independent-runner.ts';
import { startPlatform, type Platform } from './platform.ts';
import { waitFor } from '../setup/wait-for.ts';

const root = new URL('../..', import.meta.url).pathname;
const exec = promisify(execFile);

let platform: Platform;

beforeAll(async () => {
  platform = await startPlatform();
}, 120_000);

afterAll(async () => await platform?.stop());

/** curl as a person types it; answers the status and the parsed body. */
function curl(method: string, path: string, body?: unknown) {
  const output = execFileSync('curl', [
    '-sS',
    '-X',
    method,
    '-w',
    '\n%{http_code}',
    '-H',
    `authorization: Bearer ${platform.bootstrap.apiKey}`,
    ...(body === undefined ? [] : ['-H', 'content-type: application/json', '-d', JSON.stringify(body)]),
    `${platform.url}${path}`,
  ]).toString();
  const cut = output.lastIndexOf('\n');
  const text = output.slice(0, cut);
  return {
    status: Number(output.slice(cut + 1)),
    body: (text === '' ? {} : JSON.parse(text)) as Record<string, unknown>,
  };
}

function grpcClient() {
  const client = new grpc.Client(new URL(platform.url).host, grpc.credentials.createInsecure());
  const metadata = new grpc.Metadata();
  metadata.set('authorization', `Bearer ${platform.bootstrap.apiKey}`);
  return { client, metadata };
}

function unary(method: DescMethod, request: Uint8Array): Promise<Uint8Array> {
  const { client, metadata } = grpcClient();
  const identity = (bytes: Uint8Array) => Buffer.from(bytes);
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(
      `/${method.parent.typeName}/${method.name}`,
      identity,
      (bytes: Buffer) => new Uint8Array(bytes),
      request,
      metadata,
      (error, answer) => {
        client.close();
        if (error !== null || answer === undefined) reject(error ?? new Error('no answer'));
        else resolve(answer);
      },
    );
  });
}

describe('curl', () => {
  it('submits, reads, cancels and lists a run at the documented paths', async () => {
    const teamId = await platform.customerTeam('curl');
    const created = curl('POST', `/teams/${teamId}/sandbox-runs`, {
      purpose: 'agent_task',
      command: ['echo', 'hi'],
    });
    expect(created.status).toBe(201);
    expect(created.body).toMatchObject({
      state: 'queued',
      purpose: 'agent_task',
      command: ['echo', 'hi'],
      network: 'none',
    });
    const id = String(created.body['id']);
    expect(id).toMatch(/^run_[0-9a-hjkmnp-tv-z]{26}$/i);
    expect(curl('GET', `/sandbox-runs/${id}`)).toMatchObject({ status: 200, body: { id, state: 'queued' } });
    expect(curl('POST', `/sandbox-runs/${id}/cancel`, {})).toMatchObject({
      status: 200,
      body: { state: 'cancelled' },
    });
    expect(curl('GET', `/teams/${teamId}/sandbox-runs?limit=1&state=cancelled`).body).toMatchObject({
      sandboxRuns: [{ id }],
    });
  });

  it('names an unknown field and an unknown query key', async () => {
    const { teamId } = platform.bootstrap;
    const field = curl('POST', `/teams/${teamId}/sandbox-runs`, { command: ['true'], comand: 1 });
    expect(field.status).toBe(400);
    expect(JSON.stringify(field.body)).toContain('comand');
    const key = curl('GET', `/teams/${teamId}/sandbox-runs?limitt=1`);
    expect(key.status).toBe(400);
    expect(JSON.stringify(key.body)).toContain('limitt');
  });

  it('answers 405 with Allow, and 404 for what does not exist, in the one error shape', async () => {
    const response = await fetch(`${platform.url}/regions`, { method: 'DELETE' });
    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toContain('GET');
    expect(curl('GET', '/no-such-thing')).toMatchObject({
      status: 404,
      body: { error: { code: 'not_found', retryable: false } },
    });
  });
});

describe('gRPC', () => {
  it('answers a grpc-js client', async () => {
    const bytes = await unary(
      RegionsService.method.list,
      toBinary(ListRequestSchema, create(ListRequestSchema)),
    );
    const { regions } = fromBinary(ListResponseSchema, bytes);
    expect(regions.length).toBeGreaterThanOrEqual(2);
  });

  it('streams logs to a grpc-js client', async () => {
    const teamId = await platform.customerTeam('grpc');
    const run = await platform.sdk.sandboxRuns.create(teamId, { command: ['true'] });
    await platform.sdk.sandboxRuns.cancel(run.id);
    const { client, metadata } = grpcClient();
    const { input, name, parent } = SandboxRunsService.method.streamLogs;
    const call = client.makeServerStreamRequest(
      `/${parent.typeName}/${name}`,
      (message: Uint8Array) => Buffer.from(message),
      (bytes: Buffer) => bytes,
      toBinary(input, create(input, { runId: run.id })),
      metadata,
    );
    const code = await new Promise((resolve) => {
      call.on('data', () => undefined);
      call.on('error', (error: grpc.ServiceError) => resolve(error.code));
      call.on('end', () => resolve('end'));
    });
    client.close();
    expect(code).toBe('end');
  });

  for (const protocol of ['grpc', 'grpcweb', 'connect'] as const) {
    it(`answers buf curl over ${protocol}`, async () => {
      const { stdout } = await exec(
        'node_modules/.bin/buf',
        [
          'curl',
          '--schema',
          '.',
          '--protocol',
          protocol,
          ...(protocol === 'grpc' ? ['--http2-prior-knowledge'] : []),
          '-H',
          `authorization: Bearer ${platform.bootstrap.apiKey}`,
          '-d',
          '{}',
          `${platform.url}/svc.regions.v1.RegionsService/List`,
        ],
        { cwd: root },
      );
      const { regions } = JSON.parse(stdout) as { regions: { operator: string }[] };
      expect(regions.length).toBeGreaterThanOrEqual(2);
    });
  }
});

describe('OpenAPI', () => {
  it('is served, and validates', async () => {
    const response = await fetch(`${platform.url}/openapi.json`);
    expect(response.status).toBe(200);
    const document = (await response.json()) as Record<string, unknown>;
    expect(await new Validator().validate(document)).toMatchObject({ valid: true });
    const full = JSON.parse(readFileSync(`${root}proto/gen/openapi.json`, 'utf8')) as Parameters<
      typeof visibleContract
    >[0];
    const hidden = MANIFEST.filter(
      (feature) => feature.visibility === 'internal' && feature.default === 'disabled',
    );
    expect(document).toEqual(visibleContract(full, new Set(hidden.map(({ key }) => key))));
  });
});

describe('a runner written from the description of the protocol', () => {
  it('enrolls, polls, heartbeats, appends logs and reports', async () => {
    const teamId = await platform.customerTeam('independent');
    const runner = createIndependentRunner(platform.url);
    const { token } = await platform.sdk.runners.createEnrollToken(teamId);
    await runner.enroll(token, 'independent');
    expect((await runner.call('heartbeat', {})).status).toBe(200);

    const polled = runner.call('poll', { waitMs: 20_000 });
    const run = await platform.sdk.sandboxRuns.create(teamId, { command: ['echo', 'hi'] });
    const { status, body } = await polled;
    expect(status).toBe(200);
    const offer = body['run'] as { id: string; epoch: number; leaseMs: number; command: string[] };
    expect(offer).toMatchObject({ id: run.id, command: ['echo', 'hi'], leaseMs: 15_000 });

    const lease = { id: offer.id, epoch: offer.epoch };
    expect((await runner.call('heartbeat', { leases: [lease] })).body).toMatchObject({
      leases: [{ ...lease, state: 'ok' }],
    });
    const data = Buffer.from('hi\n').toString('base64');
    const logs = await runner.call('logs', { ...lease, offset: 0, chunks: [{ stream: 'stdout', data }] });
    expect(logs).toMatchObject({ status: 200, body: { nextOffset: 3 } });
    const report = { ...lease, reportId: 'report-0001', reason: 'exit', exitCode: 0, durationMs: 5 };
    expect(await runner.call('report', report)).toMatchObject({ status: 200, body: { accepted: true } });
    expect(await runner.call('report', report)).toMatchObject({ status: 200, body: { repeated: true } });

    const done = await platform.sdk.sandboxRuns.get(run.id);
    expect(done).toMatchObject({ state: 'succeeded', exitCode: 0, runnerName: 'independent' });
    const events = [];
    for await (const event of platform.sdk.sandboxRuns.streamLogs(run.id)) events.push(event.text);
    expect(events.join('')).toBe('hi\n');
  });

  it('is refused with a changed body, a replayed nonce, and after revocation', async () => {
    const teamId = await platform.customerTeam('refused');
    const runner = createIndependentRunner(platform.url);
    const { token } = await platform.sdk.runners.createEnrollToken(teamId);
    const runnerId = await runner.enroll(token, 'refused');
    const tampered = await runner.call('heartbeat', {}, (headers) => {
      headers['content-digest'] = 'sha-256=:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=:';
    });
    expect(tampered).toMatchObject({ status: 401, body: { error: { code: 'signature_invalid' } } });

    let first: Record<string, string> | undefined;
    await runner.call('heartbeat', {}, (headers) => (first = { ...headers }));
    const replayed = await runner.call('heartbeat', {}, (headers) => Object.assign(headers, first));
    expect(replayed).toMatchObject({ status: 401, body: { error: { code: 'replayed' } } });

    const held = runner.call('poll', { waitMs: 20_000 });
    await waitFor('the poll to be parked', async () => {
      const seen = (await platform.sdk.runners.get(teamId, runnerId)).lastSeenAt;
      return seen === undefined ? undefined : seen;
    });
    await platform.sdk.runners.revoke(teamId, runnerId);
    expect(await held).toMatchObject({ status: 401, body: { error: { code: 'runner_revoked' } } });
    expect(await runner.call('heartbeat', {})).toMatchObject({
      status: 401,
      body: { error: { code: 'runner_revoked' } },
    });
  });
});

describe('SDK, CLI and a real daemon', () => {
  it('runs a command, streams its output and shows its metered lease', async () => {
    const teamId = await platform.customerTeam('daemon');
    await platform.startRunner(teamId, 'machine');
    const run = await platform.sdk.sandboxRuns.create(teamId, {
      command: ['sh', '-c', 'echo out; echo err >&2; exit 3'],
    });
    let text = '';
    for await (const event of platform.sdk.sandboxRuns.streamLogs(run.id))
      text += `${event.stream}:${event.text}`;
    expect(text).toContain('stdout:out\n');
    expect(text).toContain('stderr:err\n');
    const done = await platform.sdk.sandboxRuns.get(run.id);
    expect(done).toMatchObject({
      state: 'failed',
      reason: 'exit',
      exitCode: 3,
      runnerName: 'machine',
      attempt: 1,
    });
    expect(done.meteredMs).toBe(Date.parse(done.finishedAt ?? '') - Date.parse(done.claimedAt ?? ''));

    expect(platform.svc('runners', 'list', '--team', teamId).stdout).toContain('machine');
    const viaCli = platform.svc('runs', 'create', '--team', teamId, '--json', '--', 'echo', 'from the cli');
    const { id } = JSON.parse(viaCli.stdout) as { id: string };
    expect(platform.svc('runs', 'logs', id).stdout).toBe('from the cli\n');
    expect(platform.svc('runs', 'get', 'run_missing')).toMatchObject({ status: 5 });
    expect(platform.svc('runs', 'get', id, '--bogus')).toMatchObject({ status: 2 });
  });
});
