/** This mail server for tests keeps what it takes, refuses some, and can be away for a while. */
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';

export interface Mailed {
  readonly to: readonly string[];
  readonly from: string;
  readonly secure: boolean;
  readonly user: string | undefined;
  /** Lower-case names, unfolded and decoded. */
  readonly headers: ReadonlyMap<string, string>;
  readonly text: string;
  readonly html: string;
}

/** Accounts beginning so have no mailbox there. */
export const NOBODY = 'nobody-';

export async function startSmtp(options: SMTPServerOptions = {}) {
  const mails: Mailed[] = [];
  let port = 0;
  const make = (): SMTPServer =>
    new SMTPServer({
      authOptional: true,
      disabledCommands: ['STARTTLS'],
      ...options,
      onRcptTo: ({ address }, _session, done) => {
        if (!address.startsWith(NOBODY)) return done();
        done(Object.assign(new Error('5.1.1 no such mailbox'), { responseCode: 550 }));
      },
      onData: (stream, session, done) => {
        const parts: Buffer[] = [];
        stream.on('data', (part: Buffer) => void parts.push(part));
        stream.on('end', () => {
          const { mailFrom, rcptTo } = session.envelope;
          mails.push({
            to: rcptTo.map(({ address }) => address),
            from: mailFrom === false ? '' : mailFrom.address,
            secure: session.secure,
            user: session.user === undefined ? undefined : String(session.user),
            ...read(Buffer.concat(parts).toString('latin1')),
          });
          done();
        });
      },
    });
  const listen = async (): Promise<SMTPServer> => {
    const server = make();
    // A client that breaks off is the test's own doing.
    server.on('error', () => undefined);
    await new Promise<void>((resolve) => void server.listen(port, '127.0.0.1', resolve));
    const at = server.server.address();
    port = typeof at === 'object' && at !== null ? at.port : port;
    return server;
  };
  let server: SMTPServer | undefined = await listen();
  const stop = async (): Promise<void> => {
    const was = server;
    server = undefined;
    if (was !== undefined)
      await new Promise<void>((resolve) => {
        was.close(() => resolve());
      });
  };
  return {
    port,
    url: `smtp://127.0.0.1:${port}`,
    mails,
    to: (address: string) => mails.filter((mail) => mail.to.includes(address)),
    stop,
    startAgain: async (): Promise<void> => {
      server = await listen();
    },
  };
}

/** Returns the token of the link of a mail. */
export const tokenOf = ({ text }: Mailed): string => /#token=(\S+)/.exec(text)?.[1] ?? '';

function read(raw: string): Pick<Mailed, 'headers' | 'text' | 'html'> {
  const { headers, body } = split(raw);
  const boundary = /boundary="([^"]+)"/.exec(headers.get('content-type') ?? '')?.[1];
  const parts = boundary === undefined ? [] : body.split(`--${boundary}`).slice(1, -1).map(split);
  const of = (type: string): string => {
    const part = parts.find((each) => (each.headers.get('content-type') ?? '').startsWith(type));
    return part === undefined
      ? ''
      : decoded(part.body, part.headers.get('content-transfer-encoding')).replaceAll('\r\n', '\n');
  };
  return { headers, text: of('text/plain'), html: of('text/html') };
}

function split(raw: string): { readonly headers: ReadonlyMap<string, string>; readonly body: string } {
  const text = raw.replace(/^\r\n/, '');
  const end = text.indexOf('\r\n\r\n');
  const lines = text
    .slice(0, end)
    .replace(/\r\n[ \t]+/g, ' ')
    .split('\r\n');
  const pairs = lines.map((line) => {
    const at = line.indexOf(':');
    return [line.slice(0, at).toLowerCase(), words(line.slice(at + 1).trim())] as const;
  });
  return { headers: new Map(pairs), body: text.slice(end + 4) };
}

/** Encoded words of RFC 2047, of which neighbours belong together. */
function words(text: string): string {
  return text
    .replace(/\?=\s+=\?/g, '?==?')
    .replace(/=\?utf-8\?([qb])\?([^?]*)\?=/gi, (_all, kind: string, word: string) =>
      decoded(word.replaceAll('_', ' '), kind.toLowerCase() === 'b' ? 'base64' : 'quoted-printable'),
    );
}

function decoded(body: string, encoding: string | undefined): string {
  if (encoding === 'base64') return Buffer.from(body, 'base64').toString();
  if (encoding !== 'quoted-printable') return Buffer.from(body, 'latin1').toString();
  const bytes = body
    .replace(/=\r?\n/g, '')
    .replace(/=([0-9A-F]{2})/gi, (_all, hex: string) => String.fromCharCode(parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString();
}
