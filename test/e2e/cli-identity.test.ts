/**
 * People type and programs call by gRPC who gives what to whom: keys and their children, an
 * unverified address, its owner's claim.
 */
import { createClient } from '@connectrpc/connect';
import { createGrpcTransport, createGrpcWebTransport } from '@connectrpc/connect-node';
import { ApiKeysService } from '@svc/proto/gen/svc/apikeys/v1/apikeys_pb.ts';
import { Role } from '@svc/proto/gen/svc/options/v1/options_pb.ts';
import { TeamsService } from '@svc/proto/gen/svc/teams/v1/teams_pb.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundleCli, type BundledCli, type Ended } from '../../cli/testing/bundle.ts';
import { has } from '../setup/needs.ts';
import { firstSession, join, newKey, PASSWORD, stranger } from '../setup/people.ts';
import type { TestServer } from '../setup/server.ts';
import { world } from '../setup/world.ts';

const postgresHere = await has('postgres');

describe.skipIf(!postgresHere)('credentials on the command line and over gRPC', () => {
  let cli: BundledCli;
  let server: TestServer;
  let session: string;

  beforeAll(async () => {
    [cli, { server }] = await Promise.all([bundleCli(), world()]);
    session = await firstSession(server);
  });
  afterAll(async () => await cli?.remove());

  const svc = async (credential: string, ...words: readonly string[]): Promise<Ended> =>
    await cli.run(words, {
      env: { SVC_BASE_URL: server.baseUrl, ...(credential === '' ? {} : { SVC_TOKEN: credential }) },
    });
  const json = async (credential: string, ...words: readonly string[]): Promise<Record<string, unknown>> => {
    const { stdout, stderr, code } = await svc(credential, ...words, '--json');
    expect([words.join(' '), code, stderr]).toEqual([words.join(' '), 0, stderr]);
    return JSON.parse(stdout) as Record<string, unknown>;
  };

  it('a key makes keys only with key:manage, and its children end with it', async () => {
    const refused = await svc(server.first.apiKey, 'keys', 'create', 'mine');
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain('key:manage');
    const manager = await json(
      session,
      'keys',
      'create',
      'manager',
      '--scope',
      'key:manage',
      '--scope',
      'team:read',
    );
    const parent = manager['apiKey'] as { id: string };
    const made = await json(String(manager['secret']), 'keys', 'create', 'child', '--expires-in-days', '365');
    expect(made['apiKey']).toMatchObject({ scopes: ['team:read'], parentId: parent.id });
    expect((await svc(String(made['secret']), 'teams', 'list')).code).toBe(0);
    expect((await svc(session, 'keys', 'revoke', parent.id, '--yes')).code).toBe(0);
    expect((await svc(String(made['secret']), 'teams', 'list')).code).toBe(4);
  });

  it('an unverified person waits for the team, and gives way to the owner of the address', async () => {
    const { teamId } = server.first;
    const person = await join(server, session, { teamId, role: 'developer' });
    const other = await stranger(server);
    expect((await svc(session, 'teams', 'members', 'list', teamId)).stdout).toMatch(
      new RegExp(`${person.email}\\s+false`),
    );
    expect((await svc(person.token, 'teams', 'create', 'mine')).stderr).toContain('email_unverified');
    const invited = await json(
      other.token,
      'teams',
      'invites',
      'create',
      person.email,
      '--team-id',
      other.teamId,
    );
    const { id } = invited['invite'] as { id: string };
    const accepted = await json(person.token, 'teams', 'invites', 'accept', String(invited['token']));
    expect(accepted).toMatchObject({ pending: true });
    expect((await svc(other.token, 'teams', 'invites', 'list', other.teamId)).stdout).toContain(
      person.username,
    );
    expect(
      (await svc(other.token, 'teams', 'invites', 'confirm', id, '--team-id', other.teamId, '--yes')).code,
    ).toBe(0);
    expect((await json(person.token, 'account', 'whoami'))['teams']).toHaveLength(2);

    const found = await json(session, 'admin-accounts', 'find', person.email);
    expect(found).toMatchObject({ userId: person.userId, emailVerified: false });
    const { token } = await json(session, 'admin-accounts', 'claims', 'create', person.email);
    const words = ['--username', `${person.username}-too`, '--password', PASSWORD];
    const claimed = await json('', 'account', 'claim', String(token), ...words);
    expect(claimed).toMatchObject({ email: person.email });
    expect((await svc(person.token, 'account', 'whoami')).code).toBe(4);
  });

  it.each([
    ['gRPC', createGrpcTransport],
    ['gRPC-Web', createGrpcWebTransport],
  ])('%s gives a key no more than the others do', async (_door, create) => {
    const key = await newKey(server, session, { scopes: ['team:manage', 'ci:write'] });
    const transport = create({ baseUrl: server.baseUrl, httpVersion: '2' });
    const headers = { authorization: `Bearer ${key.secret}` };
    const keys = createClient(ApiKeysService, transport);
    for (const call of [
      keys.list({}, { headers }),
      keys.create({ name: 'child' }, { headers }),
      keys.revoke({ apiKeyId: key.id }, { headers }),
    ])
      await expect(call).rejects.toThrow(/permission_denied.*key:manage/);
    const teams = createClient(TeamsService, transport);
    for (const role of [Role.OWNER, Role.ADMIN, Role.DEVELOPER, Role.VIEWER]) {
      const invited = teams.inviteMember(
        { teamId: server.first.teamId, email: 'x@example.com', role },
        { headers },
      );
      await expect(invited).rejects.toThrow(/permission_denied/);
    }
  });
});
