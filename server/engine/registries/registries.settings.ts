/** Registries that builds push to: the service's own, and those that may be spoken to without TLS. */
import { expected, parts, text, Wrong } from '@svc/proto/process/settings.ts';
import { parseHost } from './host.ts';

export const settings = {
  localRegistry: text('LOCAL_REGISTRY', {
    about:
      "The service's own registry, for teams without one. `auto` starts `docker-registry` or `registry` where one is on PATH, on this machine's loopback, if the server is all in one; `off` has none; an address names one that runs, which is spoken to over plain HTTP.",
    type: 'auto, off or host:port',
    fallback: 'auto',
    parse: (given) =>
      /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:\d{1,5})?$/.test(given) && Number(given.split(':')[1] ?? 1) <= 65_535
        ? given
        : expected(given, 'auto, off, or a host with a port if any, such as 127.0.0.1:5000'),
  }),
  insecureRegistries: text('INSECURE_REGISTRIES', {
    about: 'Registries of teams, besides loopback ones, that may be spoken to over plain HTTP.',
    type: 'hosts with a port if any, separated by commas',
    fallback: '',
    parse: readInsecureRegistries,
  }),
};

function readInsecureRegistries(given: string): readonly string[] | Wrong {
  const hosts: string[] = [];
  for (const part of parts(given)) {
    const parsed = parseHost(part);
    if ('problem' in parsed) return new Wrong(`holds "${part}": ${parsed.problem}`);
    hosts.push(parsed.host);
  }
  return hosts;
}
