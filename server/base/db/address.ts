/**
 * The address of a database as libpq has it,
 * `postgres://user:password@h1:5432,h2:5433/name?target_session_attrs=primary`: one host or several, each
 * with a port if any. `URL` refuses more than one port, and the driver takes what it does not know for
 * settings of the session. No message repeats what may be a part of a password.
 */
import { isIPv6 } from 'node:net';
import { Wrong } from '@svc/proto/process/settings.ts';

export interface Host {
  /** Name for people, and for the certificate of TLS. */
  readonly name: string;
  readonly port: number;
  /** Path of a Unix socket, which takes the place of both. */
  readonly path?: string;
}

/**
 * This says which hosts are taken: `primary` is one that is not in recovery, `read-write` one whose
 * transactions write, `any` the first that answers.
 */
export type Target = 'primary' | 'read-write' | 'any';

export interface DatabaseAddress {
  readonly hosts: readonly Host[];
  /** It is undefined where the address says nothing. */
  readonly target: Target | undefined;
  readonly user?: string;
  readonly password?: string;
  readonly database?: string;
  /** As the driver takes it. */
  readonly ssl: string | false;
}

const FORM =
  'postgres://user:password@host:port,host:port/name?target_session_attrs=primary, with special characters percent-encoded';
const SHAPE =
  /^postgres(?:ql)?:\/\/(?:(?<login>[^/?#@]*)@)?(?<hosts>[^/?#@]*)(?:\/(?<database>[^/?#@]*))?(?:\?(?<parameters>[^#@]*))?$/;
const PORT = 5432;

const TARGETS: readonly Target[] = ['primary', 'read-write', 'any'];
const SSL: Readonly<Record<string, string | false>> = {
  disable: false,
  allow: 'allow',
  prefer: 'prefer',
  require: 'require',
  // The driver checks the name with the certificate, always.
  'verify-ca': 'verify-full',
  'verify-full': 'verify-full',
};
const PARAMETERS = ['host', 'port', 'sslmode', 'target_session_attrs'];

export function readAddress(text: string): DatabaseAddress | Wrong {
  const parts = SHAPE.exec(text)?.groups;
  if (parts === undefined) return new Wrong(`is not of the form ${FORM}`);
  try {
    const [user, ...password] = (parts['login'] ?? '').split(':').map(decodeURIComponent);
    const database = decodeURIComponent(parts['database'] ?? '');
    return {
      ...readParameters(parts['hosts'] ?? '', new URLSearchParams(parts['parameters'])),
      ...(user && { user }),
      ...(password.length > 0 && { password: password.join(':') }),
      ...(database && { database }),
    };
  } catch (error) {
    if (error instanceof URIError) return new Wrong('holds a % that begins no character; write %25');
    if (error instanceof WrongPart) return error.wrong;
    throw error;
  }
}

class WrongPart extends Error {
  readonly wrong: Wrong;

  constructor(wrong: Wrong) {
    super(wrong.why);
    this.wrong = wrong;
  }
}

function readParameters(authority: string, parameters: URLSearchParams) {
  const unknown = [...parameters.keys()].find((name) => !PARAMETERS.includes(name));
  if (unknown !== undefined)
    throw new WrongPart(new Wrong(`holds the parameter "${unknown}", expected ${PARAMETERS.join(', ')}`));
  return {
    hosts: readHosts(parameters.get('host') ?? authority, parameters.get('port')),
    target: chosen(parameters, 'target_session_attrs', TARGETS),
    ssl: SSL[chosen(parameters, 'sslmode', Object.keys(SSL)) ?? 'disable'] ?? false,
  };
}

function chosen<T extends string>(parameters: URLSearchParams, name: string, words: readonly T[]) {
  const given = parameters.get(name);
  if (given === null) return undefined;
  const word = words.find((one) => one === given);
  if (word === undefined)
    throw new WrongPart(new Wrong(`says ${name}=${given}, expected one of ${words.join(', ')}`));
  return word;
}

/** Reads the hosts; `ports` has one for all hosts that name none, or one for each. */
function readHosts(list: string, ports: string | null): readonly Host[] {
  const given = ports?.split(',') ?? [];
  const texts = list.split(',');
  if (given.length > 1 && given.length !== texts.length)
    throw new WrongPart(new Wrong(`names ${texts.length} hosts and ${given.length} ports`));
  return texts.map((text, at) => {
    const host = text === '' && texts.length > 1 ? undefined : readHost(text, given[at] ?? given[0]);
    if (host !== undefined) return host;
    const which = texts.length > 1 ? `as host ${at + 1} of ${texts.length} ` : 'as its host ';
    throw new WrongPart(
      new Wrong(`has ${which}what is none, expected name:port, [IPv6]:port or the folder of a Unix socket`),
    );
  });
}

function readHost(text: string, portOfAll: string | undefined): Host | undefined {
  const folder = decodeURIComponent(text);
  if (folder.startsWith('/')) {
    const port = readPort(portOfAll);
    return port === undefined ? undefined : { name: folder, port, path: `${folder}/.s.PGSQL.${port}` };
  }
  const [, literal, plain, own] = /^(?:\[([^\]]*)\]|([^:[\]\s]*))(?::(.*))?$/.exec(text) ?? [];
  const name = literal ?? (plain === '' ? 'localhost' : plain);
  const port = readPort(own ?? portOfAll);
  if (name === undefined || port === undefined) return undefined;
  return literal === undefined || isIPv6(literal) ? { name, port } : undefined;
}

function readPort(text: string = ''): number | undefined {
  if (text === '') return PORT;
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  return port >= 1 && port <= 65_535 ? port : undefined;
}

/** For who was checked before, as settings are. */
export function addressOf(text: string): DatabaseAddress {
  const address = readAddress(text);
  if (address instanceof Wrong) throw new Error(`the address of the database ${address.why}`);
  return address;
}

export const hostName = ({ name, port, path }: Host): string =>
  path ?? (isIPv6(name) ? `[${name}]:${port}` : `${name}:${port}`);
