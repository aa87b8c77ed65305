/** This file hands letters to the mail server of the installation, each by a connection of its own. */
import { isIP } from 'node:net';
import { createTransport } from 'nodemailer';
import { letterHtml, letterText, type Letter } from './letter.ts';
import type { Sender, SmtpAddress } from './mail.settings.ts';

export interface Mail {
  /**
   * Resolves when the server took it. `id`: what is sent again under it is one mail, to servers that look. At
   * each try it is the same text. Throws a MailRefused, or what went wrong on the way.
   */
  send(letter: Letter, which: { readonly id: string; readonly at: Date }): Promise<void>;
  /** Connects, greets and signs in; says nothing more. */
  probe(): Promise<void>;
}

/** The server refused this mail for good. */
export class MailRefused extends Error {
  override readonly name = 'MailRefused';
}

/** To connect, and to wait for a greeting and each answer. */
const STEP_MS = 10_000;
/** Characters of a server's answer that are kept. */
const ANSWER_MAX = 300;

export interface MailSettings {
  readonly smtp: SmtpAddress;
  readonly from: Sender;
  /** Authorities in place of those that the process knows. */
  readonly ca?: string;
}

export function createMail({ smtp, from, ca }: MailSettings): Mail {
  const transport = createTransport({
    host: smtp.host,
    port: smtp.port,
    secure: smtp.tls,
    // A password goes to another machine under TLS or not at all.
    requireTLS: !smtp.tls && smtp.login !== undefined && !isLoopback(smtp.host),
    ...(smtp.login && { auth: smtp.login }),
    ...(ca !== undefined && { tls: { ca } }),
    connectionTimeout: STEP_MS,
    greetingTimeout: STEP_MS,
    dnsTimeout: STEP_MS,
    socketTimeout: STEP_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return {
    send: async (letter, { id, at }) => {
      try {
        await transport.sendMail({
          from,
          // As a record, an address is never read as a list of them.
          to: { name: '', address: letter.to },
          envelope: { from: from.address, to: [letter.to] },
          subject: letter.subject,
          text: letterText(letter),
          html: letterHtml(letter),
          date: at,
          messageId: `<${id}@${from.address.slice(from.address.lastIndexOf('@') + 1)}>`,
          headers: { 'Auto-Submitted': 'auto-generated' },
        });
      } catch (error) {
        throw refusal(error) ?? error;
      }
    },
    probe: async () => void (await transport.verify()),
  };
}

/**
 * Says whether the answer is a 5xx for this recipient or this text. One at any other step is about the
 * installation, whose operator sets it right.
 */
function refusal(error: unknown): MailRefused | undefined {
  const { responseCode, command, response } = error as {
    readonly responseCode?: number;
    readonly command?: string;
    readonly response?: string;
  };
  if (responseCode === undefined || responseCode < 500 || responseCode > 599) return undefined;
  if (command !== 'RCPT TO' && command !== 'DATA') return undefined;
  const answer = String(response ?? responseCode).replace(/[\p{C}\s]+/gu, ' ');
  return new MailRefused(`the mail server refused it: ${answer.slice(0, ANSWER_MAX)}`, { cause: error });
}

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
