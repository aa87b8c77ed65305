import { describe, expect, it } from 'vitest';
import { gitHost, plainAddress, refuseOtherHost } from './git-credentials.ts';

describe('the host of a repository', () => {
  it.each([
    ['https://Git.Example.com/acme/web', 'https://git.example.com'],
    ['https://git.example.com:443/acme/web', 'https://git.example.com'],
    ['https://git.example.com:8443/acme/web', 'https://git.example.com:8443'],
    ['http://git.example.com/acme/web', 'http://git.example.com'],
    ['https://git.example.com@evil.example.org/acme/web', 'https://evil.example.org'],
    ['git@Git.example.com:acme/web.git', 'ssh://git.example.com'],
    ['git@git.example.com:2222/acme/web.git', 'ssh://git.example.com'],
    ['ssh://git@git.example.com/acme/web.git', 'ssh://git.example.com'],
    ['ssh://git@git.example.com:22/acme/web.git', 'ssh://git.example.com'],
    ['ssh://git@git.example.com:2222/acme/web.git', 'ssh://git.example.com:2222'],
    ['https://', undefined],
    ['git@host', undefined],
  ])('of %s is %s', (repository, host) => expect(gitHost(repository)).toBe(host));
});

describe('an address for the ledger', () => {
  it.each([
    [
      'https://user:secret@git.example.com/acme/web.git?token=secret#x',
      'https://git.example.com/acme/web.git',
    ],
    ['https://secret@git.example.com:8443/acme/web', 'https://git.example.com:8443/acme/web'],
    ['git@git.example.com:acme/web.git?token=secret', 'ssh://git.example.com/acme/web.git'],
    ['ssh://git:secret@git.example.com:2222/acme/web.git', 'ssh://git.example.com:2222/acme/web.git'],
    ['https://', ''],
  ])('of %s is %s', (repository, address) => expect(plainAddress(repository)).toBe(address));
});

describe('held credentials', () => {
  const held = { repository: 'https://git.example.com/acme/web', hasGitCredentials: true };

  it('stay on their host, wherever there is nothing to hold, and with what nobody can read', () => {
    refuseOtherHost(held, 'https://git.example.com/acme/api');
    refuseOtherHost({ ...held, hasGitCredentials: false }, 'https://evil.example.org/x');
    refuseOtherHost({ ...held, repository: 'https://' }, 'https://');
  });

  it.each([
    'https://evil.example.org/acme/web',
    'https://git.example.com:8443/acme/web',
    'http://git.example.com/acme/web',
    'git@git.example.com:acme/web',
    'https://git.example.com@evil.example.org/acme/web',
    'https://',
  ])('do not go to %s', (repository) => {
    expect(() => refuseOtherHost(held, repository)).toThrow(/send gitCredentials .* or an empty/);
    expect(() => refuseOtherHost({ ...held, repository: null }, repository)).toThrow(/no host yet/);
  });
});
