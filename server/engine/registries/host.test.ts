import { describe, expect, it } from 'vitest';
import { isLoopback, parseHost } from './host.ts';

describe('a registry host', () => {
  it.each([
    ['Registry.Example.COM', 'registry.example.com'],
    ['registry.example.com:5000', 'registry.example.com:5000'],
    ['localhost', 'localhost'],
    ['registry:5000', 'registry:5000'],
    ['10.1.2.3:443', '10.1.2.3:443'],
    ['index.docker.io', 'docker.io'],
    ['registry-1.docker.io:443', 'docker.io'],
    ['docker.io:5000', 'docker.io:5000'],
  ])('%s is kept as %s', (text, host) => {
    expect(parseHost(text)).toEqual({ host });
  });

  it.each([
    'https://registry.example.com',
    'registry.example.com/acme',
    'me@registry.example.com',
    'registry.example.com:',
    'registry.example.com:0',
    'registry.example.com:65536',
    'registry.example.com:05',
    'registry.example.com.',
    'registry..example.com',
    '-registry.example.com',
    'registry_1.example.com',
    'registry', // In an image's name: a namespace of docker.io.
    '127.1:5000', // A loopback address in disguise.
    '0x7f.0.0.1',
    '2130706433:5000',
    '256.1.1.1',
    '2001:db8::1',
    '[2001:db8::1]:5000', // No engine takes it as part of an image's name.
    '[2001:db8::1',
    '[fe80::1%eth0]',
    '[]:5000',
    ':5000',
    ' registry.example.com',
    'registry.example.com\n',
    'bücher.example.com',
    `${'a'.repeat(64)}.example.com`,
    '',
  ])('%j is none, and it is said why', (text) => {
    const parsed = parseHost(text);
    expect('problem' in parsed ? parsed.problem : parsed).toMatch(/\w{4}/);
  });

  it('is loopback only by a name that cannot mean another machine', () => {
    const all = [
      'localhost',
      'localhost:5000',
      '127.0.0.1:5000',
      '127.9.9.9',
      '127.0.0.1.example.com',
      'localhost.example.com',
      '10.0.0.1',
    ];
    expect(all.filter(isLoopback)).toEqual(all.slice(0, 4));
  });
});
