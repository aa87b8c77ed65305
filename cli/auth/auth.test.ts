import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { apiError, useFakeApi, useFolder } from '../testing/fake-api.ts';
import type { FakeIoOptions } from '../testing/fake-io.ts';
import { ends, svc, type End, type Outcome } from '../testing/session.ts';

const api = await useFakeApi();
const folder = useFolder('auth');

afterEach(async () => {
  await rm(join(folder, 'svc'), { recursive: true, force: true });
});

const session = { token: 'ses_1', expiresAt: '2026-11-27T12:00:00Z', userId: 'user_1' };
const account = {
  userId: 'user_1',
  email: 'me@example.com',
  username: 'me',
  staff: false,
  credential: 'api_key',
  scopes: [],
};

/** There is no credential in the environment. */
const unsigned = (options: FakeIoOptions): FakeIoOptions => ({
  ...options,
  env: { XDG_CONFIG_HOME: folder, SVC_API_KEY: '', ...options.env },
});

function auth(line: string, options: FakeIoOptions = {}): Promise<Outcome> {
  return svc(api, `auth ${line}`, unsigned(options));
}

function authEnds(line: string, { code, says, ...options }: End): Promise<Outcome> {
  return ends(api, `auth ${line}`, { code, says, ...unsigned(options) });
}

async function stored(): Promise<unknown> {
  return JSON.parse(await readFile(join(folder, 'svc', 'config.json'), 'utf8'));
}

async function signIn(): Promise<void> {
  api.on('POST /auth/login', { body: session });
  expect((await auth('login --email me@example.com --password-stdin', { input: 'pass word\n' })).code).toBe(
    0,
  );
}

describe('svc auth login', () => {
  it('signs in by password and stores the session', async () => {
    api.on('POST /auth/login', { body: session });
    const { code, err, out } = await auth('login --email me@example.com --password-stdin', {
      input: ' pass word \r\n',
    });
    expect(code).toBe(0);
    expect(out).toBe('');
    expect(err).toContain(
      `signed in to ${api.url} as me@example.com; stored in ${folder}/svc/config.json as profile "default"`,
    );
    expect(err).not.toContain('ses_1');
    expect(api.asked[0]?.body).toEqual({ email: 'me@example.com', password: ' pass word ' });
    expect(api.asked[0]?.headers['authorization']).toBeUndefined();
    expect(await stored()).toEqual({
      profiles: {
        default: {
          baseUrl: api.url,
          kind: 'session',
          credential: 'ses_1',
          email: 'me@example.com',
          userId: 'user_1',
          expiresAt: session.expiresAt,
        },
      },
    });
  });

  it('asks on a terminal, the password unseen, and the code when one is needed', async () => {
    api.on('POST /auth/login', apiError(401, 'totp_required', 'a one-time code is needed'), {
      body: session,
    });
    const { code, io } = await auth('login', {
      terminal: true,
      answers: ['me@example.com', 'secret', '123456'],
    });
    expect(code).toBe(0);
    expect(io.questions).toEqual(['E-mail address: ', 'Password: (hidden)', 'One-time code: ']);
    expect(api.asked[1]?.body).toEqual({ email: 'me@example.com', password: 'secret', totpCode: '123456' });
  });

  it('sends --totp at once', async () => {
    api.on('POST /auth/login', { body: session });
    await auth('login --email a@b.c --password-stdin --totp 123456', { input: 'secret' });
    expect(api.asked[0]?.body).toMatchObject({ totpCode: '123456' });
  });

  it('says what is missing where nobody can be asked', async () => {
    await authEnds('login', { code: 2, says: 'needs --email' });
    await authEnds('login --email a@b.c', { code: 2, says: 'needs --password-stdin' });
    await authEnds('login --email a@b.c --password-stdin', { code: 2, says: 'password is empty' });
    api.on('POST /auth/login', apiError(401, 'totp_required', 'a one-time code is needed'));
    await authEnds('login --email a@b.c --password-stdin', {
      code: 4,
      says: 'add --totp with the code',
      input: 'x',
    });
  });

  it('stores nothing when the server refuses', async () => {
    api.on('POST /auth/login', apiError(401, 'credentials_invalid', 'wrong e-mail address or password'));
    const said = 'wrong e-mail address or password (credentials_invalid';
    await authEnds('login --email a@b.c --password-stdin', { code: 4, says: said, input: 'wrong' });
    await expect(stored()).rejects.toThrow('ENOENT');
  });

  it('tries an API key before it stores it', async () => {
    api.on('GET /account', { body: account });
    expect((await auth('login --profile ci --api-key-stdin', { input: 'key_9\n' })).code).toBe(0);
    expect(api.asked[0]?.headers['authorization']).toBe('Bearer key_9');
    expect(await stored()).toMatchObject({ profiles: { ci: { kind: 'api_key', credential: 'key_9' } } });
    api.on('GET /account', apiError(401, 'credentials_invalid', 'no such key'));
    expect((await auth('login --profile bad --api-key-stdin', { input: 'key_x' })).code).toBe(4);
    expect(JSON.stringify(await stored())).not.toContain('key_x');
  });

  it('refuses mixed ways and an empty key', async () => {
    expect((await auth('login --api-key-stdin --email a@b.c')).err).toContain('stands alone');
    expect((await auth('login --api-key-stdin', { input: '\n' })).err).toContain('holds no API key');
  });

  it('warns when the way is open, and when the environment goes first', async () => {
    const open = await auth(
      'login --email a@b.c --password-stdin --base-url http://svc.invalid --timeout 200ms',
      { input: 'x' },
    );
    expect(open.err).toContain('http://svc.invalid is not encrypted');
    api.on('POST /auth/login', { body: session });
    const shadowed = await auth('login --email a@b.c --password-stdin', {
      input: 'x',
      env: { SVC_TOKEN: 'token' },
    });
    expect(shadowed.err).toContain('SVC_TOKEN is set and goes before');
  });
});

describe('svc auth token', () => {
  it('prints the credential in use', async () => {
    await signIn();
    expect(await auth('token')).toMatchObject({ code: 0, out: 'ses_1\n' });
    expect(await auth('token', { env: { SVC_API_KEY: 'key_env' } })).toMatchObject({ out: 'key_env\n' });
    expect(await auth('token --api-key key_flag', { env: { SVC_API_KEY: 'key_env' } })).toMatchObject({
      out: 'key_flag\n',
    });
  });

  it('ends with 4 without one', async () => {
    expect(await auth('token')).toMatchObject({ code: 4, out: '' });
  });
});

describe('svc auth status', () => {
  it('asks the server whether the credential is good', async () => {
    await signIn();
    api.on('GET /account', { body: { ...account, credential: 'session' } });
    const { code, out } = await auth('status --json');
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      baseUrl: api.url,
      credentialFrom: 'profile "default"',
      sessionEndsAt: session.expiresAt,
      account: { email: 'me@example.com' },
    });
    expect(out).not.toContain('ses_1');
  });

  it('ends with 4 when nobody is signed in or the session is over', async () => {
    await authEnds('status', { code: 4, says: 'not signed in' });
    await signIn();
    api.on('GET /account', apiError(401, 'credentials_invalid', 'the session is over'));
    expect((await auth('status')).code).toBe(4);
  });

  it('says that a stored credential was not sent elsewhere', async () => {
    await signIn();
    await authEnds('status --base-url http://localhost:1', {
      code: 4,
      says: `profile "default" is for ${api.url}`,
    });
  });
});

describe('svc auth logout', () => {
  it('ends the session at the server, then forgets it', async () => {
    await signIn();
    api.on('POST /auth/logout', { status: 204 });
    await authEnds('logout', { code: 0, says: 'signed out' });
    expect(api.asked.at(-1)?.headers['authorization']).toBe('Bearer ses_1');
    expect(await stored()).toEqual({ profiles: {} });
  });

  it('forgets it also when the server cannot be told', async () => {
    await signIn();
    api.on('POST /auth/logout', apiError(500, 'internal', 'broken'));
    await authEnds('logout', { code: 0, says: 'could not be ended at the server (broken)' });
    expect(await stored()).toEqual({ profiles: {} });
  });

  it('takes a session that is over for ended', async () => {
    await signIn();
    api.on('POST /auth/logout', apiError(401, 'credentials_invalid', 'over'));
    expect((await auth('logout')).err).not.toContain('warning');
  });

  it('has nothing to do without a profile', async () => {
    expect(await auth('logout')).toMatchObject({ code: 0, err: 'nothing is stored for profile "default"\n' });
  });
});
