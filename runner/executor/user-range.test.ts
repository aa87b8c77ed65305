import { describe, expect, it } from 'vitest';
import { adviceForPodman, withoutRange } from './user-range.ts';

describe('withoutRange()', () => {
  const [uids, gids] = ['/etc/subuid', '/etc/subgid'];
  const good = 'somebody:100000:65536\ncontainers:2147483647:2147483648\n';

  it.each<[string, string | undefined, readonly string[]]>([
    ['both files have one', good, []],
    ['a file is missing', undefined, [gids]],
    ['it is another user’s', 'somebody:2147483647:2147483648\n', [gids]],
    ['it is too small for one container', 'containers:100000:65535\n', [gids]],
    ['it begins at root', 'containers:0:65536\n', [gids]],
    ['it is no line of the kind', 'containers\n:::\n', [gids]],
  ])('when %s', (_, text, missing) => {
    expect(withoutRange({ [uids]: good, [gids]: text })).toEqual(missing);
  });
});

describe('adviceForPodman()', () => {
  it('says a command to run, or what the engine said', async () => {
    const advice = await adviceForPodman('idmapped mounts are not there');
    expect(advice).toMatch(/run: echo 'containers:|idmapped mounts are not there$/);
  });
});
