import { afterEach, describe, expect, it } from 'vitest';
import { Wrong } from '@svc/proto/process/settings.ts';
import { NOBODY, startSmtp } from '../../../test/setup/mail/smtp.ts';
import { makeCertificates } from '../../../test/setup/runner/certificates.ts';
import { sharedByFile } from '../../../test/setup/runner/when-done.ts';
import { letterHtml, named, type Letter } from './letter.ts';
import { readSender, readSmtp } from './mail.settings.ts';
import { createMail, MailRefused } from './smtp.ts';

const letter: Letter = {
  to: 'ada@example.com',
  subject: 'Hello',
  paragraphs: ['One & “two”.'],
  link: { label: 'Go', url: 'https://svc.example.net/console/x#token=abc' },
  after: [],
};
const which = { id: 'job_1.1', at: new Date('2026-11-01T00:00:00Z') };
const from = { name: '', address: 'svc@example.net' };
const onAuth = (
  auth: { readonly username?: string | null | undefined; readonly password?: string | null | undefined },
  _session: unknown,
  done: (error: Error | null, answer?: { readonly user: string }) => void,
): void =>
  auth.password === 'p@ss'
    ? done(null, { user: auth.username ?? '' })
    : done(Object.assign(new Error('wrong'), { responseCode: 535 }));

describe('createMail()', () => {
  const certificates = sharedByFile(async () => makeCertificates());
  const servers: Array<Awaited<ReturnType<typeof startSmtp>>> = [];
  afterEach(async () => {
    for (const each of servers.splice(0)) await each.stop();
  });
  const start = async (options: Parameters<typeof startSmtp>[0] = {}) => {
    const started = await startSmtp(options);
    servers.push(started);
    return started;
  };
  const keys = () => {
    const { key, cert } = certificates();
    return { key, cert };
  };
  const over = (url: string) => {
    const smtp = readSmtp(url);
    if (smtp instanceof Wrong) throw new Error(smtp.why);
    return createMail({ smtp, from, ca: certificates().ca });
  };

  it('uses STARTTLS where it is offered, and signs in', async () => {
    const { port, mails } = await start({ ...keys(), disabledCommands: [], onAuth });
    const mail = over(`smtp://svc:p%40ss@127.0.0.1:${port}`);
    await mail.probe();
    await mail.send(letter, which);
    expect(mails).toMatchObject([{ secure: true, user: 'svc', to: ['ada@example.com'] }]);
    expect(mails[0]?.text).toContain('One & “two”.');
    expect(mails[0]?.headers.get('message-id')).toBe('<job_1.1@example.net>');
  });

  it('speaks TLS from the first byte with smtps', async () => {
    const { port, mails } = await start({ ...keys(), secure: true });
    await over(`smtps://127.0.0.1:${port}`).send(letter, which);
    expect(mails).toMatchObject([{ secure: true }]);
  });

  it('trusts no certificate of an authority that it does not know', async () => {
    const { port, mails } = await start({ ...keys(), secure: true });
    const stranger = createMail({
      smtp: { host: '127.0.0.1', port, tls: true, login: undefined },
      from,
    });
    await expect(stranger.send(letter, which)).rejects.toThrow(/certificate/);
    expect(mails).toEqual([]);
  });

  it('refuses for good what the server refuses for this recipient alone', async () => {
    const { port } = await start({ onAuth });
    const mail = over(`smtp://127.0.0.1:${port}`);
    await expect(mail.send({ ...letter, to: `${NOBODY}x@example.com` }, which)).rejects.toThrow(MailRefused);
    const login = over(`smtp://svc:wrong@127.0.0.1:${port}`).send(letter, which);
    await expect(login).rejects.not.toThrow(MailRefused);
  });
});

describe('named()', () => {
  it.each([
    ['Ada’s team', '“Ada’s team”'],
    ['a\r\nBcc: b', '“a Bcc: b”'],
    ['\u202Eevil\u200B', '“evil”'],
    ['  ', 'a team'],
    ['see www.evil', 'a team'],
    ['evil.example', 'a team'],
    ['me@evil', 'a team'],
    ['x'.repeat(200), `“${'x'.repeat(100)}…”`],
  ])('shows %j as %s', (name, shown) => {
    expect(named(name, 'a team')).toBe(shown);
  });

  it('is escaped in the HTML of a letter', () => {
    const html = letterHtml({ ...letter, subject: '<b>', paragraphs: [`<i onclick='x'>"&`] });
    expect(html).toContain('<title>&lt;b&gt;</title>');
    expect(html).toContain('<p>&lt;i onclick=&#39;x&#39;&gt;&quot;&amp;</p>');
  });
});

describe('settings of mail', () => {
  it('reads the server with its usual ports and a login', () => {
    expect(readSmtp('smtp://mail.example.net')).toMatchObject({ port: 587, tls: false, login: undefined });
    expect(readSmtp('smtps://a%40b:p%3Aw@[::1]')).toEqual({
      host: '::1',
      port: 465,
      tls: true,
      login: { user: 'a@b', pass: 'p:w' },
    });
  });

  it.each(['http://x', 'smtp:x', 'smtp://', 'smtp://h/path', 'smtp://h?tls=no', 'smtp://u:%zz@h'])(
    'refuses %s without repeating it',
    (given) => {
      const wrong = readSmtp(given);
      expect(wrong).toBeInstanceOf(Wrong);
      expect((wrong as Wrong).why).not.toContain('%zz');
    },
  );

  it('reads a sender with a name or without', () => {
    expect(readSender('Svc <svc@example.net>')).toEqual({ name: 'Svc', address: 'svc@example.net' });
    expect(readSender('svc@example.net')).toEqual({ name: '', address: 'svc@example.net' });
    for (const given of ['svc', 'a <b>', 'a@b, c@d', 'x\r\ny <a@b>'])
      expect(readSender(given)).toBeInstanceOf(Wrong);
  });
});
