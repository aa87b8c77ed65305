/**
 * The service's local registry, a real one that believes our tokens: two teams' builds, and everybody else.
 */
import { createHash, randomBytes, X509Certificate } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { has } from '../../../test/setup/needs.ts';
import { startRegistry, type Registry } from '../../../test/setup/registry.ts';
import { ownServer } from '../../../test/setup/engine/own-server.ts';
import type { Offer, ScriptedRunner } from '../../../test/setup/builds/scripted-runner.ts';
import { createSecrets } from '../../base/secrets.ts';
import { createTokenSigner } from './token-signer.ts';

const there = (await has('postgres')) && (await has('registry'));
const MANIFEST = 'application/vnd.oci.image.manifest.v1+json';
const sha = (data: Uint8Array): string => `sha256:${createHash('sha256').update(data).digest('hex')}`;

interface Team {
  readonly id: string;
  readonly runner: ScriptedRunner;
  readonly offer: Offer;
  readonly login: string;
}

describe.skipIf(!there)('the local registry', { timeout: 60_000 }, () => {
  const env = { LEASE_MS: '3600000', OFFER_MS: '3600000' };
  const { server, made, customer, environment, runner: enrolled } = ownServer({ env });
  let registry: Registry;
  let [a, b]: Team[] = [];

  const loginOf = (offer: Offer): string =>
    `${String(offer.image?.['username'])}:${String(offer.image?.['password'])}`;
  /** A customer's team whose runner has a build. */
  const team = async (name: string): Promise<Team> => {
    const id = await customer(name);
    const runner = await enrolled(id);
    await made(`POST /environments/${await environment(id)}/builds`, { commit: 'c'.repeat(40) });
    const offer = await runner.take();
    return { id, runner, offer, login: loginOf(offer) };
  };

  beforeAll(async () => {
    registry = await startRegistry({
      tokens: {
        realm: `${server.baseUrl}/registry/token`,
        certificate: join(server.dataDir, 'registry', 'tokens.crt'),
      },
    });
    [a, b] = [await team('a'), await team('b')];
  }, 120_000);
  afterAll(async () => await registry?.stop());

  const basic = (login: string) => ({ authorization: `Basic ${Buffer.from(login).toString('base64')}` });
  const tokenFor = async (login: string | undefined, ...scopes: string[]) => {
    const query = new URLSearchParams({ service: 'svc-registry' });
    for (const scope of scopes) query.append('scope', scope);
    const headers = login === undefined ? {} : basic(login);
    const answer = await fetch(`${server.baseUrl}/registry/token?${query.toString()}`, { headers });
    return {
      status: answer.status,
      headers: answer.headers,
      body: (await answer.json()) as Record<string, unknown>,
    };
  };
  /** As an engine does it: asked for a token, it gets one with its login. */
  const call = async (login: string | undefined, method: string, path: string, init: RequestInit = {}) => {
    const url = path.startsWith('http') ? path : `http://${registry.host}${path}`;
    const first = await fetch(url, { ...init, method });
    if (first.status !== 401 || login === undefined) return first;
    const challenge = first.headers.get('www-authenticate') ?? '';
    const [, realm] = /realm="([^"]+)"/.exec(challenge) ?? [];
    expect(realm).toBe(`${server.baseUrl}/registry/token`);
    const [, scope = ''] = /scope="([^"]+)"/.exec(challenge) ?? [];
    const { body } = await tokenFor(login, ...scope.split(' '));
    const headers = {
      ...(init.headers as Record<string, string>),
      authorization: `Bearer ${String(body['token'])}`,
    };
    return await fetch(url, { ...init, method, headers });
  };
  const put = async (login: string, name: string, data: Buffer): Promise<number> => {
    const begun = await call(login, 'POST', `/v2/${name}/blobs/uploads/`);
    if (begun.status !== 202) return begun.status;
    const at = new URL(begun.headers.get('location') ?? '', `http://${registry.host}`);
    at.searchParams.set('digest', sha(data));
    const headers = { 'content-type': 'application/octet-stream' };
    return (await call(login, 'PUT', at.href, { body: new Uint8Array(data), headers })).status;
  };
  const push = async (login: string, name: string): Promise<number> => {
    const [config, layer] = [Buffer.from('{}'), Buffer.from(`layer of ${name}`)];
    const sizes = [await put(login, name, config), await put(login, name, layer)];
    if (sizes.some((status) => status !== 201)) return Math.max(...sizes);
    const part = (mediaType: string, data: Buffer) => ({ mediaType, digest: sha(data), size: data.length });
    const manifest = {
      schemaVersion: 2,
      mediaType: MANIFEST,
      config: part('application/vnd.oci.image.config.v1+json', config),
      layers: [part('application/vnd.oci.image.layer.v1.tar', layer)],
    };
    const init = { body: JSON.stringify(manifest), headers: { 'content-type': MANIFEST } };
    return (await call(login, 'PUT', `/v2/${name}/manifests/1`, init)).status;
  };
  const pull = async (login: string | undefined, name: string): Promise<number> =>
    (await call(login, 'GET', `/v2/${name}/manifests/1`, { headers: { accept: MANIFEST } })).status;

  it('takes from each build the images of its team, and gives them back', async () => {
    expect(a?.offer.image).toMatchObject({
      host: '127.0.0.1:5000',
      namespace: a?.id,
      username: a?.id,
      insecure: true,
      local: true,
    });
    for (const one of [a, b]) {
      expect(await push(one!.login, `${one!.id}/web`)).toBe(201);
      expect(await pull(one!.login, `${one!.id}/web`)).toBe(200);
    }
  });

  it('gives nothing of another team, and takes nothing for it', async () => {
    expect(await push(b!.login, `${b!.id}/web`)).toBe(201);
    const denied = [401, 403];
    expect(denied).toContain(await pull(a!.login, `${b!.id}/web`));
    expect(denied).toContain(await push(a!.login, `${b!.id}/web`));
    // Names that begin alike, and none of a team's.
    for (const name of [`${a!.id}x/web`, `${a!.id}`, 'library/web', `x/${a!.id}/web`])
      expect(denied).toContain(await push(a!.login, name));
    // A layer taken over from the other's image: uploaded instead of mounted.
    const layer = sha(Buffer.from(`layer of ${b!.id}/web`));
    const mounted = await call(
      a!.login,
      'POST',
      `/v2/${a!.id}/web/blobs/uploads/?mount=${layer}&from=${b!.id}/web`,
    );
    expect([202, ...denied]).toContain(mounted.status);
    expect(denied).toContain((await call(a!.login, 'GET', '/v2/_catalog')).status);
    expect(denied).toContain((await call(a!.login, 'DELETE', `/v2/${a!.id}/web/manifests/${layer}`)).status);
  });

  it('asks everybody for a credential', async () => {
    expect((await fetch(`http://${registry.host}/v2/`)).status).toBe(401);
    expect(await pull(undefined, `${a!.id}/web`)).toBe(401);
    const [user = '', password = ''] = a!.login.split(':');
    const [work = '', epoch = '', mac = ''] = password.split('.');
    const logins = [
      undefined,
      '',
      ':',
      `${user}:`,
      `${b!.id}:${password}`,
      `${user}:${work}.${Number(epoch) + 1}.${mac}`,
      `${user}:${b!.offer.id}.${epoch}.${mac}`,
      `${user}:${work}.${epoch}.${mac.slice(0, -1)}`,
      `${user}:${work}.${epoch}.${'A'.repeat(mac.length)}`,
      `${user}:${server.first.staffApiKey}`,
    ];
    for (const login of logins) {
      const answer = await tokenFor(login, `repository:${a!.id}/web:pull`);
      expect([login, answer.status]).toEqual([login, 401]);
      expect(answer.headers.get('www-authenticate')).toMatch(/^Basic /);
      expect(answer.body).not.toHaveProperty('token');
    }
  });

  it('believes no token of another installation, and none that was changed', async () => {
    const scope = `repository:${a!.id}/web:pull`;
    const { body } = await tokenFor(a!.login, scope);
    const [head = '', claims = '', signature = ''] = String(body['token']).split('.');
    const read = JSON.parse(Buffer.from(claims, 'base64url').toString()) as Record<string, unknown>;
    expect(read).toMatchObject({
      iss: 'svc',
      aud: 'svc-registry',
      sub: a!.id,
      access: [{ type: 'repository', name: `${a!.id}/web`, actions: ['pull'] }],
    });
    const access = [{ type: 'repository', name: `${b!.id}/web`, actions: ['pull', 'push'] }];
    const changed = Buffer.from(JSON.stringify({ ...read, access })).toString('base64url');
    const foreign = createTokenSigner(createSecrets(randomBytes(32))).sign({ ...read, access });
    for (const token of [`${head}.${changed}.${signature}`, foreign]) {
      const headers = { authorization: `Bearer ${token}`, accept: MANIFEST };
      expect((await fetch(`http://${registry.host}/v2/${b!.id}/web/manifests/1`, { headers })).status).toBe(
        401,
      );
    }
    const headers = { authorization: `Bearer ${String(body['token'])}`, accept: MANIFEST };
    expect((await fetch(`http://${registry.host}/v2/${a!.id}/web/manifests/1`, { headers })).status).toBe(
      200,
    );
  });

  it('is bounded, and answers for itself alone', async () => {
    const ask = async (query: string) =>
      (await fetch(`${server.baseUrl}/registry/token?${query}`, { headers: basic(a!.login) })).status;
    expect(await ask('service=other')).toBe(400);
    expect(await ask('')).toBe(400);
    expect(await ask(`service=svc-registry&${'scope=x&'.repeat(21)}`)).toBe(400);
    for (const scope of [
      'registry:catalog:*',
      'x',
      `repository(plugin):${a!.id}/web:pull`,
      `repository:${a!.id}/web:*`,
    ])
      expect(await ask(`service=svc-registry&scope=${encodeURIComponent(scope)}`)).toBe(200);
  });

  it('is given a certificate that the servers of the installation share', () => {
    const path = join(server.dataDir, 'registry', 'tokens.crt');
    expect(statSync(path).mode & 0o777).toBe(0o644);
    const certificate = new X509Certificate(readFileSync(path));
    expect(certificate.ca).toBe(true);
    expect(certificate.verify(certificate.publicKey)).toBe(true);
    const secrets = createSecrets(randomBytes(32));
    const [one, other] = [createTokenSigner(secrets), createTokenSigner(secrets)].map(
      ({ rootCertificate }) => new X509Certificate(rootCertificate).publicKey,
    );
    expect(one?.equals(other!)).toBe(true);
  });

  it('lets a credential end with its lease', async () => {
    const late = await team('late');
    const scope = `repository:${late.id}/web:pull,push`;
    expect((await tokenFor(late.login, scope)).status).toBe(200);
    await server.asOwner(
      `update work_leases set expires_at = now() - interval '1 s' where work_id in (select id from work_items where build_id = '${late.offer.id}')`,
    );
    expect((await tokenFor(late.login, scope)).status).toBe(401);
    await server.asOwner(
      `update work_leases set expires_at = now() + interval '1 h' where work_id in (select id from work_items where build_id = '${late.offer.id}')`,
    );
    await late.runner.finish(late.offer);
    expect((await tokenFor(late.login, scope)).status).toBe(401);
  });
});
