/**
 * The rules by which the kernel filters the networks of apps. The kernel does it, and not the daemon as for
 * builds, because an app must keep its connections while the daemon restarts.
 *
 * They stand in the table `mangle`, chain PREROUTING, which a packet passes before the tables in which
 * engines and firewalls accept, and before the address of a published port is exchanged. Each runner has two
 * chains of its own: the first picks packets of its networks, the second decides about what an app sends.
 */
import { NON_PUBLIC_NETWORKS } from './egress-address.ts';

/** Mail is sent through a provider's port for submission, as from most clouds. */
const MAIL_PORT = 25;
const DNS_PORT = 53;

export interface AppRules {
  /** Tells the chains of runners on one machine apart; at most 12 characters. */
  owner: string;
  /** The networks of apps, in CIDR notation, and their bridges. */
  networks: ReadonlyArray<{ readonly subnet: string; readonly bridge: string }>;
  /** Servers that apps ask for names, at any address. */
  resolvers: readonly string[];
  /** The operator's exceptions. */
  allowed: readonly AllowedAddress[];
}

export interface AllowedAddress {
  address: string;
  port: number;
}

export function chainsOf(owner: string) {
  return { pick: `SVC-${owner}`, decide: `SVC-${owner}-APP` };
}

/** The rules of both chains, as `iptables-restore` takes them. */
export function rulesOf({ owner, networks, resolvers, allowed }: AppRules): string[] {
  const { pick, decide } = chainsOf(owner);
  const decisions = [
    // Replies to whoever called the published port; of what an app itself begins, each packet is looked at.
    '-m conntrack --ctstate ESTABLISHED --ctdir REPLY -j RETURN',
    '-p icmp -m conntrack --ctstate RELATED -j RETURN',
    // They are not translated, and would leave with the address of the app's network.
    '-m conntrack --ctstate INVALID -j DROP',
    ...resolvers.flatMap((address) =>
      ['udp', 'tcp'].map(
        (protocol) => `-d ${address}/32 -p ${protocol} -m ${protocol} --dport ${DNS_PORT} -j RETURN`,
      ),
    ),
    ...allowed.map(({ address, port }) => `-d ${address}/32 -p tcp -m tcp --dport ${port} -j RETURN`),
    '! -p tcp -j DROP',
    `-p tcp -m tcp --dport ${MAIL_PORT} -j DROP`,
    // This covers every address of this machine, the public ones too.
    '-m addrtype --dst-type LOCAL -j DROP',
    ...NON_PUBLIC_NETWORKS.map((network) => `-d ${network} -j DROP`),
  ];
  const subnets = networks.map(({ subnet }) => subnet);
  return [
    // An app and its database are alone in their network, but for this machine's own address there. Some
    // kernels filter what stays within a bridge, too.
    ...networks.map(
      ({ subnet, bridge }) =>
        `-A ${pick} -s ${subnet} -d ${subnet} -i ${bridge} -m addrtype ! --dst-type LOCAL -j RETURN`,
    ),
    // With `-g`, RETURN leads back to PREROUTING.
    ...subnets.map((network) => `-A ${pick} -s ${network} -g ${decide}`),
    // Others that this machine forwards for reach no app but by its published port.
    ...subnets.map((network) => `-A ${pick} -d ${network} -j DROP`),
    ...decisions.map((decision) => `-A ${decide} ${decision}`),
  ];
}
