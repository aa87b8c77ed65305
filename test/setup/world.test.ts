import { describe, expect, it } from 'vitest';
import { has } from './needs.ts';
import { refused } from './refused.ts';
import { world } from './world.ts';

describe.skipIf(!(await has('postgres')))('world()', () => {
  it('is asked for twice → two teams that know nothing of each other, in one server', async () => {
    const [one, other] = await Promise.all([world(), world()]);
    expect(other.server.baseUrl).toBe(one.server.baseUrl);
    expect(await refused(other.sdk.projects.get(one.projectId))).toBe('404 not_found');
    const developer = await one.member('developer');
    expect((await developer.sdk.projects.list()).map(({ id }) => id)).toEqual([one.projectId]);
    expect((await one.member('developer')).userId).toBe(developer.userId);
    expect((await one.staff.platformFeatures.list()).length).toBeGreaterThan(0);
  });
});
