/** These settings say by which server mails go, and in whose name. No message repeats a password. */
import { Wrong, optional } from '@svc/proto/process/settings.ts';

export interface SmtpAddress {
  readonly host: string;
  readonly port: number;
  /** TLS from the first byte; without it STARTTLS. */
  readonly tls: boolean;
  readonly login: { readonly user: string; readonly pass: string } | undefined;
}

export interface Sender {
  readonly name: string;
  readonly address: string;
}

const FORM = 'smtp://user:password@host:port or smtps://…, with special characters percent-encoded';
/** Ports of submission, with STARTTLS and with TLS from the first byte (RFC 8314). */
const PORTS = { 'smtp:': 587, 'smtps:': 465 } as const;
const ADDRESS = /^[^\s<>@",;:\\[\]()]+@[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?$/;

export const mail = {
  smtp: optional('SMTP_URL', {
    about:
      'Mail server: invitations and links that verify an address are mailed by it. `smtp://` uses STARTTLS where the server offers it, and always when a password goes to another machine; `smtps://` uses TLS from the first byte. Needs `MAIL_FROM`.',
    type: 'smtp://… or smtps://…',
    absent: 'nothing is mailed, and whoever invites somebody hands over the token',
    parse: readSmtp,
  }),
  from: optional('MAIL_FROM', {
    about: 'Sender of mails, an address of a domain for which the mail server may send.',
    type: 'address, or name <address>',
    absent: 'none; it must be set with `SMTP_URL`',
    parse: readSender,
  }),
};

export function readSmtp(given: string): SmtpAddress | Wrong {
  const url = URL.canParse(given) ? new URL(given) : undefined;
  const wrong = new Wrong(`is not of the form ${FORM}`);
  if (url === undefined || (url.protocol !== 'smtp:' && url.protocol !== 'smtps:')) return wrong;
  const { hostname, username, password, pathname, search, hash } = url;
  if (hostname === '' || !['', '/'].includes(pathname) || search + hash !== '') return wrong;
  try {
    return {
      host: decodeURIComponent(hostname.replace(/^\[|\]$/g, '')),
      port: url.port === '' ? PORTS[url.protocol] : Number(url.port),
      tls: url.protocol === 'smtps:',
      login:
        username === ''
          ? undefined
          : { user: decodeURIComponent(username), pass: decodeURIComponent(password) },
    };
  } catch (error) {
    if (error instanceof URIError) return new Wrong('holds a % that begins no character; write %25');
    throw error;
  }
}

export function readSender(given: string): Sender | Wrong {
  const [, name = '', inside] = /^\s*"?([^"<>]*?)"?\s*<([^<>]*)>\s*$/.exec(given) ?? [];
  const address = (inside ?? given).trim();
  if (ADDRESS.test(address) && !/[\r\n]/.test(given)) return { name, address };
  return new Wrong(`is "${given}", expected an address such as svc@example.com, or name <address>`);
}
