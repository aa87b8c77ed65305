import { execFileSync } from 'node:child_process';
import { existsSync, lstatSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { has } from '../../test/setup/needs.ts';
import { planned, testContext } from '../../test/setup/runner/build-context.ts';
import { gitServer } from '../../test/setup/runner/build-stories.ts';
import type { WireBuildSource } from '../control-plane/wire.ts';
import { BuildFailed } from './failure.ts';
import { cloneSource } from './git.ts';

async function clone(source: WireBuildSource) {
  const context = await testContext({ source: { branch: 'main', ...source } });
  const plan = planned(context.plan, 'source');
  return {
    context,
    done: cloneSource(context, plan),
    file: (name: string) => join(context.workspace.clone, name),
  };
}

const gitIn = (cwd: string, ...args: string[]): string =>
  execFileSync('git', args, { cwd }).toString().trim();

describe.runIf(await has('git'))('cloneSource()', { timeout: 30_000 }, () => {
  it('fetches one commit and nothing before it', async () => {
    const git = await gitServer();
    git.commit('r', { a: 'one' });
    const { url, commit } = git.commit('r', { a: 'two' });
    git.commit('r', { a: 'three' });
    const { context, done, file } = await clone({ repository: url, commit });
    expect(await done).toEqual({ commit });
    expect(readFileSync(file('a'), 'utf8')).toBe('two');
    const count = execFileSync('git', ['rev-list', '--count', 'HEAD'], { cwd: context.workspace.clone });
    expect(count.toString().trim()).toBe('1');
  });

  it('looks a commit up on its branch when the server hands out branches only', async () => {
    const git = await gitServer();
    const options = { anyCommit: false };
    const { commit } = git.commit('r', { a: 'one' }, options);
    const { url } = git.commit('r', { a: 'two' }, options);
    const { context, done, file } = await clone({ repository: url, commit });
    expect(await done).toEqual({ commit });
    expect(readFileSync(file('a'), 'utf8')).toBe('one');
    expect(context.text()).toContain('does not hand out single commits');
    const strange = await clone({ repository: url, commit: 'f'.repeat(40) });
    await expect(strange.done).rejects.toThrow(
      `commit ${'f'.repeat(40)} is not among the last 1000 commits of branch or tag main`,
    );
  });

  it('gives the token to the host that it is for, never as an argument, and says what to do when it is refused', async () => {
    const git = await gitServer({ username: 'robot', password: 'tok-4711' });
    const { url } = git.commit('r', { a: 'one' });
    const right = await clone({ repository: url, username: 'robot', token: 'tok-4711' });
    const real = execFileSync('sh', ['-c', 'command -v git']).toString().trim();
    right.context.fake('git', `exec ${real} "$@"`);
    await right.done;
    expect(right.context.text()).not.toContain('4711');
    expect(readFileSync(right.file('.git/config'), 'utf8')).not.toContain('4711');
    expect(JSON.stringify(right.context.calls('git'))).not.toContain('4711');
    for (const name of ['git-token', 'git-username'])
      expect(statSync(join(right.context.workspace.secrets, name)).mode & 0o777).toBe(0o600);
    await expect((await clone({ repository: url, username: 'robot', token: 'old' })).done).rejects.toThrow(
      'the git credentials were refused',
    );
    await expect((await clone({ repository: url })).done).rejects.toThrow(
      'register git credentials for this host',
    );
    const askpass = join(right.context.workspace.folder, 'askpass');
    const asked = (prompt: string) => execFileSync(askpass, [prompt]).toString();
    const { host, hostname } = new URL(url);
    expect(asked(`Username for 'http://${host}': `)).toBe('robot');
    expect(asked(`Password for 'http://robot@${host}': `)).toBe('tok-4711');
    for (const other of [
      'http://robot@evil.example',
      `https://robot@${host}`,
      `http://robot@${hostname}`,
      `http://robot@${host}0`,
      `http://robot@${host}'.evil`,
    ])
      expect(() => asked(`Password for '${other}': `)).toThrow();
  });

  it('runs nothing of a host, whatever it is called', async () => {
    const source: WireBuildSource = { repository: 'https://git.example/x', username: 'robot', token: 'tok' };
    const context = await testContext({ source: { branch: 'main', ...source } });
    context.fake('git', 'exit 1');
    const owned = join(context.workspace.temporary, 'owned');
    const plan = planned(context.plan, 'source');
    for (const host of [
      `$(touch ${owned})`,
      `\`touch ${owned}\``,
      `"; touch ${owned}; "`,
      `'; touch ${owned}; '`,
    ]) {
      await expect(cloneSource(context, { ...plan, host })).rejects.toThrow();
      const askpass = join(context.workspace.folder, 'askpass');
      expect(execFileSync(askpass, [`Password for 'https://robot@${host}': `]).toString()).toBe('tok');
      expect(existsSync(owned)).toBe(false);
    }
  });

  it('names the branch that is not there', async () => {
    const git = await gitServer();
    const { url } = git.commit('r', { a: 'one' });
    await expect((await clone({ repository: url, branch: 'gone' })).done).rejects.toThrow(BuildFailed);
    await expect((await clone({ repository: url, branch: 'gone' })).done).rejects.toThrow(
      'branch or tag gone of http://',
    );
    await expect((await clone({ repository: url, branch: 'refs/tags/main' })).done).rejects.toThrow(
      'tag main of http://',
    );
  });

  it('clones a tag by its name and by its full name, and the branch of that name first', async () => {
    const git = await gitServer();
    const { url, commit } = git.commit('r', { a: 'released' });
    git.commit('r', { a: 'later' });
    git.tag('r', 'v1.2.0', commit);
    git.tag('r', 'main', commit);
    for (const branch of ['v1.2.0', 'refs/tags/v1.2.0']) {
      const { context, done, file } = await clone({ repository: url, branch });
      expect(await done).toEqual({ commit, ref: 'refs/tags/v1.2.0' });
      expect(readFileSync(file('a'), 'utf8')).toBe('released');
      expect(gitIn(context.workspace.clone, 'describe', '--exact-match')).toBe('v1.2.0');
      expect(gitIn(context.workspace.clone, 'rev-list', '--count', 'HEAD')).toBe('1');
    }
    for (const branch of ['main', 'refs/heads/main']) {
      const { done, file } = await clone({ repository: url, branch });
      expect(await done).toMatchObject({ ref: 'refs/heads/main' });
      expect(readFileSync(file('a'), 'utf8')).toBe('later');
    }
  });

  it('clones as much of the history as was asked for, and its tags, for git describe', async () => {
    const git = await gitServer();
    const commits = ['one', 'two', 'three', 'four'].map((a) => git.commit('r', { a }).commit);
    const [first = '', second = '', third = '', last = ''] = commits;
    git.tag('r', 'v0.9', first);
    git.tag('r', 'v1.0', second);
    const repository = `${git.url}/r.git`;
    for (const commit of [undefined, last]) {
      const more = commit === undefined ? {} : { commit };
      const { context, done } = await clone({ repository, cloneDepth: 3, tags: true, ...more });
      expect(await done).toMatchObject({ commit: last });
      const at = (...args: string[]) => gitIn(context.workspace.clone, ...args);
      expect(at('describe')).toMatch(/^v1\.0-2-g[0-9a-f]{7}$/);
      expect([at('tag'), at('rev-list', '--count', 'HEAD')]).toEqual(['v1.0', '3']);
    }
    const { context, done } = await clone({ repository, cloneDepth: 2 });
    await done;
    expect(gitIn(context.workspace.clone, 'rev-list', 'HEAD').split('\n')).toEqual([last, third]);
    expect(gitIn(context.workspace.clone, 'tag')).toBe('');
  });

  it('says which address the credentials are not for, of a submodule and of the repository', async () => {
    const git = await gitServer({ username: 'robot', password: 'tok' });
    const modules = (url: string) => `[submodule "libs/s"]\n  path = libs/s\n  url = ${url}\n`;
    const clonedWith = async (url: string, source: WireBuildSource = { username: 'robot', token: 'tok' }) => {
      const outer = git.commit('outer', {
        '.gitmodules': modules(url),
        'libs/s': { submodule: 'a'.repeat(40) },
      });
      const { context, done } = await clone({ repository: outer.url, submodules: true, ...source });
      context.fake('ssh', 'echo "Host key verification failed." >&2; exit 255');
      return await done.then(String, (error: Error) => error.message);
    };
    for (const url of ['git@git.example:acme/lib.git', 'ssh://git@git.example/acme/lib.git'])
      expect(await clonedWith(url)).toMatch(
        new RegExp(
          `^submodules cannot be fetched: .*; ${url} is fetched by ssh, and the git credentials hold a token, which is for https alone: write the address as https`,
          's',
        ),
      );
    const other = await gitServer({ username: 'robot', password: 'other' });
    const elsewhere = other.commit('lib', { a: 'x' }).url;
    expect(await clonedWith(elsewhere)).toContain(
      `the git credentials are for ${new URL(git.url).host} alone, and`,
    );
    const { context, done } = await clone({ repository: 'git@git.example:acme/web.git', token: 'tok' });
    context.fake('ssh', 'echo "Host key verification failed." >&2; exit 255');
    await expect(done).rejects.toThrow('is fetched by ssh, and the git credentials hold a token');
  });

  it('runs nothing that a repository brings: no filter, no hook, no submodule that was not asked for', async () => {
    const git = await gitServer();
    const { url } = git.commit('r', {
      '.gitattributes': '*.txt filter=evil\n',
      'a.txt': 'text',
      '.gitmodules': '[submodule "s"]\n  path = s\n  url = ext::sh -c "touch /tmp/owned"\n',
      link: { link: '/etc/passwd' },
    });
    const { done, file } = await clone({ repository: url });
    await done;
    expect(existsSync(file('s'))).toBe(false);
    expect(existsSync(file('.git/hooks'))).toBe(false);
    expect(lstatSync(file('link')).isSymbolicLink()).toBe(true);
  });

  it('calls ssh with a key file of its own and strict host keys, and with nothing of this user', async () => {
    const { context, done } = await clone({
      repository: 'git@git.example:acme/web.git',
      sshKey: '-----BEGIN OPENSSH PRIVATE KEY-----\nabc\n-----END OPENSSH PRIVATE KEY-----',
      knownHosts: 'git.example ssh-ed25519 AAAA',
    });
    context.fake('ssh', 'env | sort >"$TMPDIR/env"; echo "Host key verification failed." >&2; exit 255');
    await expect(done).rejects.toThrow('the host key is not in the known hosts');
    const [argv = []] = context.calls('ssh');
    const { secrets, home, temporary } = context.workspace;
    for (const word of [
      'StrictHostKeyChecking=yes',
      `UserKnownHostsFile=${secrets}/known-hosts`,
      'GlobalKnownHostsFile=/dev/null',
      'BatchMode=yes',
      'IdentitiesOnly=yes',
      `${secrets}/ssh-key`,
    ])
      expect(argv).toContain(word);
    expect(argv.join(' ')).not.toContain('PRIVATE KEY');
    expect(statSync(join(secrets, 'ssh-key')).mode & 0o777).toBe(0o600);
    expect(readFileSync(join(temporary, 'env'), 'utf8')).toContain(`HOME=${home}\n`);
    expect(readFileSync(join(temporary, 'env'), 'utf8')).not.toContain('SSH_AUTH_SOCK');
  });
});
