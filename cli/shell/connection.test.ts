import { chmod, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { useFolder } from '../testing/fake-api.ts';
import { fakeIo } from '../testing/fake-io.ts';
import { configPath, readConfig, storeProfile, type Profile } from './config.ts';
import { checkedAddress, findConnection, isExposed } from './connection.ts';

const folder = useFolder('config');
const dev: Profile = { baseUrl: 'https://dev.example.com', kind: 'api_key', credential: 'key_dev' };

beforeEach(() => rm(join(folder, 'svc'), { recursive: true, force: true }));

const io = (env: Readonly<Record<string, string>> = {}) =>
  fakeIo({ env: { XDG_CONFIG_HOME: folder, ...env } });

describe('the configuration file', () => {
  it('lies where XDG says, and is for its owner alone', async () => {
    await storeProfile(io(), 'dev', dev);
    const path = join(folder, 'svc', 'config.json');
    expect(configPath(io())).toBe(path);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect((await stat(join(folder, 'svc'))).mode & 0o777).toBe(0o700);
    expect(configPath(fakeIo({ homeFolder: '/home/me' }))).toBe('/home/me/.config/svc/config.json');
    expect(configPath(fakeIo({ homeFolder: '/home/me', env: { XDG_CONFIG_HOME: 'relative' } }))).toBe(
      '/home/me/.config/svc/config.json',
    );
  });

  it('keeps other profiles, and forgets one', async () => {
    await storeProfile(io(), 'dev', dev);
    await storeProfile(io(), 'prod', { ...dev, credential: 'key_prod' });
    await storeProfile(io(), 'dev', undefined);
    expect(Object.keys((await readConfig(io())).profiles)).toEqual(['prod']);
    expect(await readFile(configPath(io()), 'utf8')).not.toContain('key_dev');
  });

  it('stays private when it is replaced, and warns while it is not', async () => {
    await storeProfile(io(), 'dev', dev);
    await chmod(configPath(io()), 0o644);
    const reader = io();
    await readConfig(reader);
    expect(reader.err()).toContain('others can read');
    await storeProfile(io(), 'dev', dev);
    expect((await stat(configPath(io()))).mode & 0o777).toBe(0o600);
  });

  it.each([['{'], ['[]'], ['{"profiles":{"a":{}}}']])(
    'is refused by its path when it holds %s',
    async (text) => {
      await mkdir(join(folder, 'svc'), { recursive: true });
      await writeFile(configPath(io()), text, { mode: 0o600 });
      await expect(readConfig(io())).rejects.toThrow(`cannot read ${configPath(io())}`);
      // A job that brings everything along never needs it.
      await findConnection(io({ SVC_BASE_URL: 'http://localhost', SVC_API_KEY: 'k' }), {});
    },
  );
});

describe('findConnection()', () => {
  beforeEach(async () => {
    await storeProfile(io(), 'default', {
      ...dev,
      baseUrl: 'https://svc.example.com',
      credential: 'key_default',
    });
    await storeProfile(io(), 'dev', dev);
  });

  it('takes the default profile', async () => {
    expect(await findConnection(io(), {})).toMatchObject({
      baseUrl: 'https://svc.example.com',
      credential: 'key_default',
    });
  });

  it('takes the profile of the flag before that of the environment', async () => {
    expect(await findConnection(io({ SVC_PROFILE: 'dev' }), {})).toMatchObject({ credential: 'key_dev' });
    expect(await findConnection(io({ SVC_PROFILE: 'dev' }), { profile: 'default' })).toMatchObject({
      credential: 'key_default',
    });
  });

  it('takes flags before the environment, and that before the profile', async () => {
    const env = { SVC_API_KEY: 'key_env', SVC_TOKEN: 'token_env' };
    expect(await findConnection(io(env), {})).toMatchObject({ credential: 'key_env', source: 'SVC_API_KEY' });
    expect(await findConnection(io({ SVC_TOKEN: 'token_env' }), {})).toMatchObject({
      credential: 'token_env',
    });
    expect(await findConnection(io(env), { apiKey: 'key_flag' })).toMatchObject({
      credential: 'key_flag',
      source: '--api-key',
    });
    expect(await findConnection(io({ SVC_BASE_URL: 'http://a' }), { baseUrl: 'http://b/' })).toMatchObject({
      baseUrl: 'http://b',
    });
  });

  it('never sends a stored credential to another address', async () => {
    const found = await findConnection(io(), { baseUrl: 'https://evil.example.com' });
    expect(found.credential).toBeUndefined();
    expect(found.withheld).toBe(true);
    const same = await findConnection(io(), { baseUrl: 'https://SVC.example.com/' });
    expect(same.credential).toBe('key_default');
  });

  it('refuses a profile that is not there', async () => {
    await expect(findConnection(io(), { profile: 'dve' })).rejects.toMatchObject({
      hints: ['did you mean dev?', 'profiles: default, dev'],
    });
    expect(await findConnection(io(), { profile: 'new' }, { profileMayBeNew: true })).toMatchObject({
      profileName: 'new',
    });
  });

  it('refuses a credential that no header can hold', async () => {
    await expect(findConnection(io({ SVC_API_KEY: 'key\n' }), {})).rejects.toThrow(
      'SVC_API_KEY holds spaces or control characters',
    );
  });
});

describe('checkedAddress()', () => {
  it('takes http and https addresses', () => {
    expect(checkedAddress('https://svc.example.com/base/')).toBe('https://svc.example.com/base');
    for (const wrong of ['svc.example.com', 'ftp://x', 'http://x?a=1', 'http://user:password@x', ''])
      expect(() => checkedAddress(wrong), wrong).toThrow('must be an http or https address');
  });
});

it('knows which addresses others can listen to', () => {
  expect(isExposed('http://svc.example.com')).toBe(true);
  expect(isExposed('http://10.0.0.1:8080')).toBe(true);
  for (const safe of [
    'https://svc.example.com',
    'http://localhost:8080',
    'http://127.0.0.1',
    'http://[::1]:8080',
  ])
    expect(isExposed(safe), safe).toBe(false);
});
