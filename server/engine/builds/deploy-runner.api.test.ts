/**
 * These tests show over HTTP that builds go to the runner that deployed their environment last, say that they
 * wait for it, and are free once it is revoked.
 */
import { describe, expect, it } from 'vitest';
import { has } from '../../../test/setup/needs.ts';
import { ownServer } from '../../../test/setup/engine/own-server.ts';

describe.skipIf(!(await has('postgres')))('builds that deploy', () => {
  const { server, ok, made, customer, environment, runner } = ownServer({
    env: { LEASE_MS: '3600000', OFFER_MS: '3600000' },
  });

  it('go to one runner until it is revoked, and then to another, also one that was asking already', async () => {
    const teamId = await customer('deployers');
    const newRunner = async (name: string) => await runner(teamId, undefined, name);
    const path = `/environments/${await environment(teamId, { deploy: { kind: 'container', app: 'web' } })}/builds`;
    const submit = async () => await made(`POST ${path}`, {});
    const [first, other] = [await newRunner('box-a'), await newRunner('box-b')];
    const one = await submit();
    await first.finish(await first.take());

    const back = await made(`POST ${path}/${one}/rollback`, {});
    expect(await other.poll()).toBeUndefined();
    await server.db
      .sql`update runners set last_seen_at = now() - interval '1 hour' where id = ${first.runnerId}`;
    expect(await ok(`GET ${path}/${back}`)).toMatchObject({
      waiting: {
        reason: 'no_live_runner',
        detail:
          'it waits for runner box-a, on which its environment is deployed: it has not called within 60 s; start it again, or revoke it with: svc runners revoke, after which any other runner may take the build',
      },
    });
    await first.finish(await first.take());

    const two = await submit();
    const polled = other.wait();
    await ok(`DELETE /teams/${teamId}/runners/${first.runnerId}`);
    const offer = await polled;
    expect(offer?.id).toBe(two);
    await other.finish(offer!);
    await submit();
    expect(await (await newRunner('box-c')).poll()).toBeUndefined();
    await other.finish(await other.take());
  });
});
