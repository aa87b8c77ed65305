import { describe, expect, it } from 'vitest';
import type { BuildOffer, WireBuildSource } from '../control-plane/wire.ts';
import { planOf, secretsOfBuild } from './plan.ts';

const source: WireBuildSource = { repository: 'https://git.example/acme/web.git', branch: 'main' };
const offer = (changes: Partial<BuildOffer> = {}): BuildOffer => ({
  id: 'bld_1',
  epoch: 1,
  source,
  ...changes,
});
const plan = (changes?: Partial<BuildOffer>, allowInsecureGit = false) =>
  planOf(offer(changes), { allowInsecureGit });
const from = (changes: WireBuildSource) => plan({ source: { ...source, ...changes } });

describe('planOf()', () => {
  it('fills in what the offer leaves out', () => {
    expect(plan()).toMatchObject({
      buildType: 'auto',
      steps: [],
      source: { transport: 'https', host: 'git.example', branch: 'main', buildPath: '.', submodules: false },
      limits: { timeoutSeconds: 1_800 },
    });
    expect(plan().builderImage).toMatch(/^docker\.io\/paketobuildpacks\/.*:\d/);
  });

  it('takes https and both spellings of ssh', () => {
    expect(from({ repository: 'git@git.example:acme/web.git' }).source).toMatchObject({
      transport: 'ssh',
      host: 'git.example',
    });
    expect(from({ repository: 'ssh://git@[::1]:2222/web' }).source).toMatchObject({
      transport: 'ssh',
      host: '[::1]:2222',
    });
  });

  it.each([
    'ext::sh -c id',
    'file:///etc',
    '/srv/repo',
    '-oProxyCommand=id',
    'git://git.example/x',
    'ssh://-oProxyCommand=id/x',
    'https://git.example/a b',
    '',
  ])('refuses the repository %j', (repository) => {
    expect(() => from({ repository })).toThrow(/repository is/);
  });

  it.each([
    ['ssh://git@$(id)/x', '$(id)'],
    ['ssh://git@a;b/x', 'a;b'],
    ['ssh://git@a"b/x', 'a\\"b'],
    ['ssh:///x', ''],
    ['https://$(id).x/y', '$(id).x'],
    ["https://git.example'.evil/y", "git.example'.evil"],
    ['git@-oProxyCommand:x', '-oProxyCommand'],
  ])('refuses %j, whose host is no name', (repository, host) => {
    expect(() => from({ repository })).toThrow(`host of the repository is "${host}", expected letters`);
  });

  it('refuses credentials in an address without repeating them', () => {
    const refused = () => from({ repository: 'https://user:tok-4711@git.example/x' });
    expect(refused).toThrow('register them as git credentials');
    expect(refused).not.toThrow('4711');
  });

  it('takes plain http from loopback only, and only when that is allowed', () => {
    const repository = 'http://127.0.0.1:8080/x.git';
    expect(() => from({ repository })).toThrow('plain http');
    expect(plan({ source: { ...source, repository } }, true).source).toMatchObject({ transport: 'http' });
    expect(() => plan({ source: { ...source, repository: 'http://10.0.0.1/x' } }, true)).toThrow(
      'plain http',
    );
  });

  it.each(['../up', '/etc', 'a/../../b', '.git', 'a\nb'])('refuses the build path %j', (buildPath) => {
    expect(() => from({ buildPath })).toThrow('buildPath is');
  });

  it.each(['dockerfile', 'context'] as const)('refuses a %s outside of the repository', (field) => {
    for (const path of ['../up', '/etc/passwd', 'a/../../b', '.git/config', 'a\nb'])
      expect(() => from({ [field]: path })).toThrow(`${field} is`);
    expect(plan({ source: { ...source, [field]: 'services/api' } }).source).toMatchObject({
      [field]: 'services/api',
    });
  });

  it('refuses a stage and a depth that are none', () => {
    for (const target of ['--all', 'a b', '$(id)']) expect(() => from({ target })).toThrow('target is');
    for (const cloneDepth of [-1, 1.5, 10_001]) expect(() => from({ cloneDepth })).toThrow('cloneDepth is');
  });

  it('takes a tag where a branch may stand, and no other kind of name', () => {
    for (const branch of ['v1.2.0', 'refs/tags/v1.2.0', 'refs/heads/main'])
      expect(plan({ source: { ...source, branch } }).source?.branch).toBe(branch);
    for (const branch of ['refs/pull/1/head', 'refs/remotes/origin/main'])
      expect(() => from({ branch })).toThrow('the name of a branch or a tag');
  });

  it.each(['-x', 'a..b', 'a b', 'refs/../x', 'a.lock', '@{u}', ''])('refuses the branch %j', (branch) => {
    expect(() => from({ branch })).toThrow('branch is');
  });

  it('refuses names that an engine or Dokku would read as something else', () => {
    const image = { host: 'reg.example', namespace: 'acme', repository: 'web', tag: '1' };
    expect(plan({ image }).image?.name).toBe('reg.example/acme/web');
    expect(() => plan({ image: { ...image, repository: '--all' } })).toThrow('image is');
    expect(() => plan({ image: { ...image, tag: '' } })).toThrow();
    expect(() => plan({ image: { ...image, host: '' } })).toThrow('image.host is');
    expect(() => plan({ image: { ...image, repository: '' } })).toThrow('image is');
    expect(() => plan({ variables: { 'A B': '' } })).toThrow('variable name is');
    expect(() => plan({ deploy: { kind: 'container', app: '-rm', containerPort: 80 } })).toThrow(
      'deploy.app is',
    );
    expect(() => plan({ deploy: { kind: 'container', app: 'web' } })).toThrow('deploy.containerPort is');
    const deploy = { kind: 'dokku', app: 'web', containerPort: 80 } as const;
    expect(plan({ deploy: { ...deploy, environmentId: 'env_1' } }).deploy?.environment).toBe('env_1');
    expect(() => plan({ deploy: { ...deploy, environmentId: 'a b' } })).toThrow('deploy.environmentId is');
  });

  it.each([
    [{ timeoutSeconds: -1 }, 'limits.timeoutSeconds is -1, expected a number from 0.1 to 604800'],
    [{ memoryMb: 0 }, 'limits.memoryMb is 0, expected a whole number from 16 to 4194304'],
    [{ memoryMb: 512.5 }, 'limits.memoryMb is 512.5'],
    [{ cpus: 1e9 }, 'limits.cpus is 1000000000, expected a number from 0.01 to 1024'],
    [{ cpus: Number.NaN }, 'limits.cpus is NaN'],
    [{ outputBytes: -5 }, 'limits.outputBytes is -5'],
  ])('refuses the limits %j, and holds the contract’s where none are sent', (limits, refusal) => {
    expect(() => plan({ limits })).toThrow(refusal);
    expect(plan({ limits: {} }).limits).toEqual(plan({}).limits);
  });

  it('deploys what exists by its digest only, and never builds it too', () => {
    const deploy = { kind: 'container', app: 'web', containerPort: 80 } as const;
    const digest = `reg.example/web@sha256:${'a'.repeat(64)}`;
    expect(
      planOf({ id: 'bld_1', epoch: 1, deploy, deployImage: digest }, { allowInsecureGit: false }).source,
    ).toBeUndefined();
    expect(
      planOf(
        { id: 'bld_1', epoch: 1, deploy, deployImage: digest, image: { host: 'reg.example', password: 'p' } },
        { allowInsecureGit: false },
      ).image,
    ).toMatchObject({ host: 'reg.example', password: 'p' });
    expect(() =>
      planOf({ id: 'b', epoch: 1, deploy, deployImage: 'reg.example/web:1' }, { allowInsecureGit: false }),
    ).toThrow('a reference with a digest');
    expect(() => plan({ deploy, deployImage: digest })).toThrow('neither or both');
  });
});

it('knows every secret of an offer', () => {
  const secrets = secretsOfBuild(
    offer({
      source: { ...source, token: 't1', sshKey: 'k1' },
      secrets: { A: 's1' },
      variables: { B: 'plain' },
      image: { host: 'h', repository: 'r', tag: 't', password: 'p1' },
    }),
  );
  expect(secrets.sort()).toEqual(['k1', 'p1', 's1', 't1']);
});
