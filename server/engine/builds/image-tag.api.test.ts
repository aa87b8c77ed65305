/**
 * The tag of a published image over the real doors: the number of its build and the commit, whoever names the
 * commit, and nothing that a runner makes up.
 */
import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { has } from '../../../test/setup/needs.ts';
import { world, type World } from '../../../test/setup/world.ts';
import { IMAGE, type ScriptedRunner } from '../../../test/setup/builds/scripted-runner.ts';

const digestOf = (text: string) => `sha256:${createHash('sha256').update(text).digest('hex')}`;
const HEAD = '5a2b7f2'.padEnd(40, '0');

describe.skipIf(!(await has('postgres')))('the tag of an image', () => {
  let w: World;
  let runner: ScriptedRunner;
  let environmentId: string;
  beforeAll(async () => {
    w = await world();
    runner = await w.runner();
    const { id } = await w.sdk.environments.create(w.projectId, {
      name: 'tagged',
      repository: 'https://git.example.com/acme/tagged',
      deploy: { kind: 'dokku', app: `tagged-${w.projectId.slice(-8)}` },
    });
    environmentId = id;
  });
  const submit = async (commit?: string) => {
    const build = await w.sdk.builds.create(environmentId, commit === undefined ? {} : { commit });
    return { build, offer: await runner.take() };
  };
  const shown = async (id: string) => (await w.sdk.builds.get(environmentId, id)).tag;
  const published = (commit: string, tag?: string) => ({
    build: { image: IMAGE, digest: digestOf(commit), commit, ...(tag !== undefined && { tag }) },
  });

  it('has the commit of the branch, which the runner completes and no other one may be put in', async () => {
    const { build, offer } = await submit();
    expect(offer.image).toMatchObject({ tag: `${build.number}`, commitInTag: true });
    const tag = `${build.number}-5a2b7f2`;
    for (const other of [
      `${build.number}-5a2b7f3`,
      `${build.number + 1}-5a2b7f2`,
      `${build.number}`,
      'latest',
    ])
      expect(await runner.report(offer, published(HEAD, other))).toMatchObject({
        status: 400,
        body: { error: { message: expect.stringContaining(`build.tag is "${other}", expected "${tag}"`) } },
      });
    expect(await shown(build.id)).toBeUndefined();
    expect(await runner.report(offer, published(HEAD, tag))).toMatchObject({ status: 200 });
    expect(await shown(build.id)).toBe(tag);
    const builds = await w.sdk.builds.list(environmentId);
    expect(builds.find(({ id }) => id === build.id)?.tag).toBe(tag);
  });

  it('is the number alone from a runner that does not know better, and the offered one of a commit that was named', async () => {
    const old = await submit();
    await runner.report(old.offer, published(HEAD));
    expect(await shown(old.build.id)).toBe(`${old.build.number}`);
    const named = await submit('9'.repeat(40));
    const tag = `${named.build.number}-9999999`;
    expect(named.offer.image).toMatchObject({ tag });
    expect(named.offer.image?.['commitInTag'] ?? false).toBe(false);
    await runner.report(named.offer, published('9'.repeat(40)));
    expect(await shown(named.build.id)).toBe(tag);
  });

  it('is that of the second attempt, whose head is another commit', async () => {
    const { build, offer } = await submit();
    await runner.beat(offer, 'building');
    await w.server.db
      .sql`update work_leases set expires_at = now() - interval '1 hour' where work_id = ${offer.id} and ended_at is null`;
    const again = await runner.take();
    expect(again).toMatchObject({ id: offer.id, attempt: 2 });
    const tag = `${build.number}-bbbbbbb`;
    expect((await runner.report(offer, published('a'.repeat(40), `${build.number}-aaaaaaa`))).status).toBe(
      409,
    );
    await runner.report(again, published('b'.repeat(40), tag));
    expect(await shown(build.id)).toBe(tag);
  });

  it('goes with the image that a rollback deploys, whose own number is another one', async () => {
    const { build, offer } = await submit();
    const tag = `${build.number}-5a2b7f2`;
    await runner.finish(offer, { ...published(HEAD, tag).build });
    const back = await w.sdk.builds.rollback(environmentId, build.id);
    expect(back).toMatchObject({ tag, number: build.number + 1 });
    const deploy = await runner.take();
    const own = await runner.report(deploy, { build: { tag: `${back.number}-5a2b7f2`, commit: HEAD } });
    expect(own.body).toMatchObject({ error: { message: expect.stringContaining('expected none') } });
    await runner.finish(deploy);
    expect(await shown(back.id)).toBe(tag);
  });
});
