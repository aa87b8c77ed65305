/** Settings that servers and gateways have alike, made by what each says of its own. */
import { bindHost, choice, flag, number, optional, ranges, secret, text, webAddresses } from './settings.ts';

/** Makes the setting of an address that is listened on. */
export function listenHost(name: string, about: string) {
  return text(name, { about, type: 'address', fallback: '127.0.0.1', parse: bindHost });
}

export function listenPort(name: string, about: string, fallback: number) {
  return number(name, { about, fallback, min: 0, max: 65_535 });
}

export const host = listenHost(
  'HOST',
  'Address that is listened on. The default is this machine alone; `0.0.0.0` or `::` is every address of the machine.',
);

export function publicUrls(about: string) {
  const type = 'http(s) addresses, separated by commas';
  return optional('PUBLIC_URLS', {
    about,
    type,
    absent: 'the loopback names at `PORT`',
    parse: webAddresses,
  });
}

export function trustedProxies(about: string) {
  const type = 'addresses and ranges, separated by commas';
  return text('TRUSTED_PROXIES', { about, type, fallback: '', parse: ranges });
}

export const logLevel = choice('LOG_LEVEL', {
  about: 'Least level of the lines that are logged.',
  values: ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'],
  fallback: 'info',
});

export function metricsToken(absent: string) {
  const about = 'Bearer credential of whoever reads `/metrics`, at least 16 characters.';
  return optional('METRICS_TOKEN', { about, type: 'secret', absent, parse: secret(16) });
}

export function stopGrace(about: string) {
  return number('STOP_GRACE_MS', { about, unit: 'ms', fallback: 10_000, min: 0, max: 300_000 });
}

export const runnersEnabled = flag('RUNNERS_ENABLED', {
  about: 'Off, runners receive no work. Set it at servers and gateways alike.',
  fallback: true,
});
