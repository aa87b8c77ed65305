/**
 * What somebody deployed elsewhere runs for everything that tells of what runs: impact, lineage, passports,
 * packages of compliance.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { goodsOf } from '../../../test/setup/delivery/goods.ts';
import { packageOf } from '../../../test/setup/delivery/packages.ts';
import { has } from '../../../test/setup/needs.ts';
import { waitFor } from '../../../test/setup/wait-for.ts';
import { world, type World } from '../../../test/setup/world.ts';

describe.skipIf(!(await has('postgres')))('a promotion that was completed elsewhere', () => {
  let w: World;
  let folder: string;

  const goods = goodsOf(() => w);
  const { artifact, environment } = goods;
  /**
   * It makes a promotion of these in an environment without a deploy target; `image` is the one that is asked
   * for.
   */
  const deployedElsewhere = async (
    artifacts: ReadonlyArray<{ readonly id: string }>,
    { environmentId, image }: { readonly environmentId: string; readonly image?: string },
  ) => {
    const release = await goods.release(...artifacts.map(({ id }) => id));
    const asked = image === undefined ? {} : { artifactId: image };
    const { id } = await w.sdk.promotions.create(environmentId, release.id, asked);
    await w.sdk.promotions.approve(environmentId, id);
    const url = 'https://shop.example.com';
    await w.sdk.promotions.complete(environmentId, id, { status: 'deployed', url });
    return id;
  };
  const placesOf = async (digest: string) =>
    ((await w.sdk.artifacts.impact(w.teamId, { digest })).environments ?? []).map(
      (each) => each.environmentId,
    );

  beforeAll(async () => {
    w = await world();
    folder = mkdtempSync(join(tmpdir(), 'svc-elsewhere-'));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('runs there with all that its release holds, until the next one is, or with the image that was asked for', async () => {
    const [one, two, bundle, next] = [
      await artifact({ kind: 'image' }),
      await artifact({ kind: 'image' }),
      await artifact({ kind: 'package' }),
      await artifact({ kind: 'package' }),
    ];
    const environmentId = await environment();
    const promotionId = await deployedElsewhere([one, two, bundle], { environmentId });
    for (const { digest } of [one, two, bundle]) {
      const { environments, counts } = await w.sdk.artifacts.impact(w.teamId, { digest });
      expect(environments).toMatchObject([
        { environmentId, digest, promotionId, address: 'https://shop.example.com' },
      ]);
      expect([environments?.[0]?.buildId, counts?.environments]).toEqual([undefined, 1]);
      const { nodes, edges } = await w.sdk.artifacts.lineage(w.teamId, digest);
      const deployment = nodes?.at(-1);
      expect(deployment).toMatchObject({ kind: 'deployment', state: 'elsewhere' });
      expect(edges?.at(-1)).toEqual({ from: promotionId, to: deployment?.id, relation: 'deployed_as' });
      const { document } = await waitFor(
        'the passport',
        async () => await w.sdk.artifacts.passport(w.teamId, digest),
        { holds: (passport) => JSON.stringify(passport.document).includes('elsewhere') },
      );
      expect(document).toMatchObject({ deployments: [{ id: deployment?.id, how: 'elsewhere' }] });
    }
    await deployedElsewhere([two, next], { environmentId });
    expect(await placesOf(one.digest)).toEqual([]);
    expect(await placesOf(two.digest)).toEqual([environmentId]);
    expect(await placesOf(next.digest)).toEqual([environmentId]);
    expect((await w.sdk.artifacts.lineage(w.teamId, one.digest)).nodes?.at(-1)?.kind).toBe('deployment');

    const other = await environment();
    await deployedElsewhere([one, two], { environmentId: other, image: one.id });
    expect(await placesOf(one.digest)).toEqual([other]);
    expect(await placesOf(two.digest)).toEqual([environmentId]);
  });

  it('is one change of its period, with all that was deployed, and with who approved what they asked for', async () => {
    const start = new Date().toISOString();
    const all = [await artifact({ kind: 'image' }), await artifact({ kind: 'package' })];
    const environmentId = await environment();
    const promotionId = await deployedElsewhere(all, { environmentId });
    const tar = await packageOf(w, [start, new Date(Date.now() + 1).toISOString()]);
    const json = (path: string): unknown =>
      JSON.parse(execFileSync('tar', ['-xOf', '-', path], { input: tar, encoding: 'utf8' }));
    expect(json('changes/population.json')).toMatchObject([
      {
        how: 'elsewhere',
        environmentId,
        number: null,
        buildId: null,
        promotion: { id: promotionId, approvals: [{ userId: w.owner.userId }] },
        artifacts: all.map(({ digest, id: artifactId }) => ({ digest, artifact: { id: artifactId } })),
        exceptions: ['unverified_provenance', 'no_package_list', 'self_approved'],
      },
    ]);
    expect(json('changes/exceptions.json')).toContainEqual(
      expect.objectContaining({ kind: 'self_approved', environmentId }),
    );
  });

  it('is missed by who checks the package of its period, once it is taken out of what was deployed', async () => {
    const start = new Date().toISOString();
    const [first, last] = [await environment(), await environment()];
    const kept = await deployedElsewhere([await artifact({ kind: 'image' })], { environmentId: first });
    const cut = await deployedElsewhere([await artifact({ kind: 'package' })], { environmentId: last });
    const period = [start, new Date(Date.now() + 1).toISOString()] as const;
    const checked = async (name: string) => {
      const place = join(folder, name);
      mkdirSync(place);
      writeFileSync(`${place}.tar`, await packageOf(w, period));
      execFileSync('tar', ['-xf', `${place}.tar`, '-C', place]);
      const { status, stdout } = spawnSync('sh', [join(place, 'verify.sh')], { encoding: 'utf8' });
      const json = (path: string): ReadonlyArray<Record<string, unknown>> =>
        JSON.parse(readFileSync(join(place, path), 'utf8'));
      const missing = json('changes/exceptions.json').filter(({ kind }) => kind === 'deployment_missing');
      return { status, stdout, expected: json('changes/expected.json'), missing, tar: `${place}.tar` };
    };
    const elsewhere = { buildId: null, number: null, digest: null };
    const whole = await checked('whole');
    expect(whole.expected).toMatchObject([
      { ...elsewhere, promotionId: kept, environmentId: first },
      { ...elsewhere, promotionId: cut, environmentId: last },
    ]);
    expect([whole.status, whole.stdout, whole.missing]).toEqual([
      0,
      'all files are as they were signed\n',
      [],
    ]);

    await w.server.db.sql`delete from promotions where id = ${cut} and team_id = ${w.teamId}`;
    const short = await checked('short');
    expect(short.expected).toEqual(whole.expected);
    expect(short.missing).toMatchObject([{ promotionId: cut, environmentId: last }]);
    expect([short.status, short.stdout.split(',')[0]]).toEqual([
      1,
      `missing deployment: promotion ${cut} of environment ${last}`,
    ]);
    writeFileSync(join(folder, 'keys.json'), (await w.server.call('GET /signing-keys')).text);
    const line = ['compliance', 'verify', short.tar, '--keys', join(folder, 'keys.json'), '--json'];
    const { stdout } = spawnSync(process.execPath, ['cli/dist/main.js', ...line], { encoding: 'utf8' });
    expect(stdout).toContain(`missing: promotion ${cut} of environment ${last}, which entry `);
  });
});
