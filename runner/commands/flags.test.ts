import { describe, expect, it } from 'vitest';
import { parseFlags, suggestion, type FlagSpec } from './flags.ts';
import { RUN_FLAGS, runSettings, timeMs } from './settings.ts';

const specs: FlagSpec[] = [
  { name: 'url', value: 'url', help: '', env: 'T_URL' },
  { name: 'label', value: 'k=v', repeated: true, help: '' },
  { name: 'json', help: '' },
];

describe('flags', () => {
  it('takes --name value and --name=value, and lets the flag win over the variable', () => {
    const flags = parseFlags(specs, ['--url', 'a', '--label=x=1', '--label', 'y=2', '--json'], {
      T_URL: 'b',
    });
    expect(flags.text('url')).toBe('a');
    expect(flags.list('label')).toEqual(['x=1', 'y=2']);
    expect(flags.on('json')).toBe(true);
    expect(parseFlags(specs, [], { T_URL: 'b' }).text('url')).toBe('b');
    expect(parseFlags(specs, ['--url='], {}).text('url')).toBe('');
  });

  it('refuses what it does not know, and says what was meant', () => {
    expect(() => parseFlags(specs, ['--ulr', 'x'], {})).toThrow('unknown flag --ulr; did you mean --url?');
    expect(() => parseFlags(specs, ['--labels', 'x'], {})).toThrow('did you mean --label?');
    expect(() => parseFlags(specs, ['--zzzzzz'], {})).toThrow(/^unknown flag --zzzzzz$/);
    expect(() => parseFlags(specs, ['stray'], {})).toThrow('unexpected argument "stray"');
    expect(() => parseFlags(specs, ['-j'], {})).toThrow('unexpected argument "-j"');
  });

  it('refuses a missing value, a repeated flag and a value for a switch', () => {
    expect(() => parseFlags(specs, ['--url'], {})).toThrow('--url needs a value');
    expect(() => parseFlags(specs, ['--url', '--json'], {})).toThrow('--url needs a value');
    expect(() => parseFlags(specs, ['--url', 'a', '--url', 'b'], {})).toThrow('--url is given twice');
    expect(() => parseFlags(specs, ['--json=yes'], {})).toThrow('--json is a switch');
  });

  it('suggests only what is near', () => {
    expect(suggestion('stauts', ['status', 'run'])).toBe('; did you mean status?');
    expect(suggestion('x', ['status', 'run'])).toBe('');
  });
});

describe('settings of run', () => {
  const settings = (args: string[], env: NodeJS.ProcessEnv = {}, config = {}) =>
    runSettings(parseFlags(RUN_FLAGS, args, env), config);

  it('prefers flag over variable over config file over default', () => {
    expect(settings([]).slots).toBe(1);
    expect(settings([], {}, { slots: 2 }).slots).toBe(2);
    expect(settings([], { SVC_RUNNER_SLOTS: '3' }, { slots: 2 }).slots).toBe(3);
    expect(settings(['--slots', '4'], { SVC_RUNNER_SLOTS: '3' }, { slots: 2 }).slots).toBe(4);
  });

  it('refuses values out of range with the range', () => {
    expect(() => settings(['--slots', '0'])).toThrow('--slots is "0", expected a whole number from 1 to 256');
    expect(() => settings(['--slots', '1e2'])).toThrow('whole number');
    expect(() => settings(['--executor', 'lxc'])).toThrow('expected one of podman, docker, namespaces');
    expect(() => settings(['--log-level', 'loud'])).toThrow('expected one of debug');
    expect(() => settings(['--ca-file', '/nowhere.pem'])).toThrow('--ca-file cannot be read');
  });

  it('takes a key of zones with its zones, and neither without the other', () => {
    const key = ['--acme-dns-key', '/etc/dns.key'];
    const zones = ['--acme-dns-zones', 'Example.com, bücher.example.'];
    const read = { keyFile: '/etc/dns.key', zones: ['example.com', 'xn--bcher-kva.example'] };
    expect(settings([]).acmeDns).toBeUndefined();
    expect(settings([...key, ...zones]).acmeDns).toEqual(read);
    expect(settings([...key, ...zones, '--acme-dns-server', '[2001:db8::1]']).acmeDns).toEqual({
      ...read,
      server: { host: '2001:db8::1', port: 53 },
    });
    for (const alone of [key, zones, ['--acme-dns-server', 'ns1.example.com']])
      expect(() => settings(alone)).toThrow('--acme-dns-key and --acme-dns-zones go together');
    for (const wrong of ['*.example.com', 'example.com\nserver', 'a;b'])
      expect(() => settings([...key, '--acme-dns-zones', wrong])).toThrow(
        /expected a domain like|go together/,
      );
  });

  it('reads times with units', () => {
    expect([
      timeMs('90', 't'),
      timeMs('90s', 't'),
      timeMs('15m', 't'),
      timeMs('3h', 't'),
      timeMs('250ms', 't'),
      timeMs('0', 't'),
    ]).toEqual([90_000, 90_000, 900_000, 10_800_000, 250, 0]);
    for (const text of ['', 'soon', '-1', '1d', '169h', '1.5h'])
      expect(() => timeMs(text, 't'), text).toThrow('expected a time like');
  });
});
