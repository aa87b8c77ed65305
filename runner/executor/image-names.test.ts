/**
 * Tests the order of calls with a program in the engine's place that changes names as podman does: reads them
 * all, writes them all.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tempDir } from '../../test/setup/runner/temp-dir.ts';
import { ENGINE_TIMEOUTS } from './engine.ts';
import { changeNames } from './image-names.ts';

describe('changeNames()', () => {
  it('is called for one image many times at once → every name stays, also after a call that fails', async () => {
    const folder = tempDir();
    const names = join(folder, 'names');
    writeFileSync(names, '');
    const program = join(folder, 'podman');
    const script = `#!/bin/sh
for last; do :; done
there=$(cat ${names}); sleep 0.05
[ "$last" = refused ] && exit 125
echo "$there $last" > ${names}
`;
    writeFileSync(program, script, { mode: 0o755 });
    const engine = { name: 'podman' as const, program, timeouts: ENGINE_TIMEOUTS, processesPerUser: 1 };
    const given = ['team-a', 'refused', 'team-b', 'team-c'];
    const done = await Promise.all(
      given.map(async (name) => await changeNames(engine, 5_000, 'tag', 'image', name)),
    );
    expect(done.map(({ code }) => code)).toEqual([0, 125, 0, 0]);
    expect(readFileSync(names, 'utf8').trim()).toBe('team-a team-b team-c');
  });
});
