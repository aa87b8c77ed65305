/**
 * Reads the address of a broker or of the nodes of one, `amqp://user:password@h1:5672,h2:5672,h3/vhost`: one
 * host or several, each with a port if any. `URL` refuses more than one port. No message repeats what may be
 * a part of a password.
 */
import { Wrong } from '../process/settings.ts';

export interface BrokerAddress {
  /** `name:port` */
  readonly hosts: readonly string[];
  readonly username: string;
  readonly password: string;
  readonly vhost: string;
  readonly tls: boolean;
}

const FORM = 'amqp://user:password@host:port,host:port/vhost, with special characters percent-encoded';
const SHAPE = /^amqp(?<tls>s?):\/\/(?:(?<login>[^/?#@]*)@)?(?<hosts>[^/?#@]*)(?:\/(?<vhost>[^/?#@]*))?$/;
const PORTS = { plain: '5672', tls: '5671' } as const;

export function readBrokerAddress(text: string): BrokerAddress | Wrong {
  const parts = SHAPE.exec(text)?.groups;
  if (parts === undefined) return new Wrong(`is not of the form ${FORM}`);
  const tls = parts['tls'] !== '';
  const texts = (parts['hosts'] ?? '').split(',');
  const hosts = texts.map((host) => readHost(host.trim(), tls ? PORTS.tls : PORTS.plain));
  const wrong = hosts.findIndex((host) => host === undefined);
  if (wrong >= 0)
    return new Wrong(
      `has as host ${wrong + 1} of ${texts.length} what is none, expected a name or an IPv4 address, with a port if it is not the usual one; an IPv6 address needs a name`,
    );
  try {
    // As the client does when nothing is said.
    const [username = '', ...password] = (parts['login'] ?? 'guest:guest').split(':').map(decodeURIComponent);
    return {
      hosts: hosts.filter((host) => host !== undefined),
      username,
      password: password.join(':'),
      vhost: decodeURIComponent(parts['vhost'] ?? '') || '/',
      tls,
    };
  } catch (error) {
    if (error instanceof URIError) return new Wrong('holds a % that begins no character; write %25');
    throw error;
  }
}

/** The client cuts hosts at their first colon, so there are no IPv6 addresses. */
function readHost(text: string, usualPort: string): string | undefined {
  const [, name, port = usualPort] = /^([\w.-]+)(?::(\d{1,5}))?$/.exec(text) ?? [];
  if (name === undefined || Number(port) < 1 || Number(port) > 65_535) return undefined;
  return `${name}:${port}`;
}

/** As a setting, the address is checked and left as it is. */
export const brokerUrl = (text: string): string | Wrong => {
  const address = readBrokerAddress(text);
  return address instanceof Wrong ? address : text;
};

/** For who was checked before, as settings are. */
export function brokerAddressOf(text: string): BrokerAddress {
  const address = readBrokerAddress(text);
  if (address instanceof Wrong) throw new Error(`the address of the broker ${address.why}`);
  return address;
}
