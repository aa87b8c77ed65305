import { describe, expect, it } from 'vitest';
import { readApk, readDpkg, readOsRelease } from './system-packages.ts';

const DPKG = `Package: libstdc++6
Status: install ok installed
Priority: optional
Architecture: amd64
Multi-Arch: same
Source: gcc-12
Version: 12.2.0-14+deb12u1
Depends: gcc-12-base (= 12.2.0-14+deb12u1), libc6 (>= 2.36)
Description: GNU Standard C++ Library v3
 This package contains an additional runtime library.
 .
 Version: 99
Conffiles:
 /etc/x 8e4d 1

Package: libstdc++6
Status: install ok half-configured
Architecture: i386
Multi-Arch: same
Source: gcc-12 (12.1)
Version: 12.2.0-14+deb12u1

Package: vim
Status: deinstall ok config-files
Architecture: amd64
Version: 2:9.0.1378-2

Package: gone
Status: purge ok not-installed

Package: passwd
Status: install ok installed
Architecture: amd64
Source: shadow (1:4.13)
Version: 1:4.13+dfsg1-1+deb12u1

Package: broken
Status: install ok installed
`;

const APK = `C:Q1zQe4QyFOWqqPPRvP3CFwgqzSBZc=
P:musl
V:1.2.5-r0
A:x86_64
S:407278
T:the musl c library (libc) implementation
U:https://musl.libc.org/
L:MIT
o:musl
m:Natanael Copa <ncopa@alpinelinux.org>
p:so:libc.musl-x86_64.so.1=1
F:lib
R:ld-musl-x86_64.so.1
a:0:0:755
Z:Q1x

P:libssl3
V:3.3.1-r3
A:x86_64
L:Apache-2.0
o:openssl

P:ours
V:1
`;

describe('readDpkg()', () => {
  it('reads what is installed, for each architecture, with the name of its source', () => {
    expect([...readDpkg(DPKG)]).toEqual([
      {
        purl: {
          type: 'deb',
          name: 'libstdc++6',
          version: '12.2.0-14+deb12u1',
          qualifiers: { arch: 'amd64' },
        },
        licenses: [],
        source: 'gcc-12',
      },
      {
        purl: {
          type: 'deb',
          name: 'libstdc++6',
          version: '12.2.0-14+deb12u1',
          qualifiers: { arch: 'i386' },
        },
        licenses: [],
        source: 'gcc-12',
      },
      {
        purl: {
          type: 'deb',
          name: 'passwd',
          version: '1:4.13+dfsg1-1+deb12u1',
          qualifiers: { arch: 'amd64' },
        },
        licenses: [],
        source: 'shadow',
      },
      undefined,
    ]);
  });

  it('reads a file of status.d, which names no state', () => {
    expect([...readDpkg('Package: base-files\r\nVersion: 12.4\r\nArchitecture: all')]).toMatchObject([
      { purl: { name: 'base-files', version: '12.4' }, source: 'base-files' },
    ]);
    expect([...readDpkg('')]).toEqual([]);
  });
});

describe('readApk()', () => {
  it('reads what is installed, with licence and origin, and tells P from p', () => {
    expect([...readApk(APK)]).toEqual([
      {
        purl: { type: 'apk', name: 'musl', version: '1.2.5-r0', qualifiers: { arch: 'x86_64' } },
        licenses: ['MIT'],
        source: 'musl',
      },
      {
        purl: { type: 'apk', name: 'libssl3', version: '3.3.1-r3', qualifiers: { arch: 'x86_64' } },
        licenses: ['Apache-2.0'],
        source: 'openssl',
      },
      { purl: { type: 'apk', name: 'ours', version: '1' }, licenses: [], source: 'ours' },
    ]);
  });
});

describe('readOsRelease()', () => {
  it.each([
    [
      'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nNAME="Debian GNU/Linux"\nVERSION_ID="12"\nID=debian\n',
      { id: 'debian', name: 'Debian GNU/Linux', version: '12' },
    ],
    [
      "NAME='Alpine Linux'\nID=alpine\nVERSION_ID=3.20.2\n",
      { id: 'alpine', name: 'Alpine Linux', version: '3.20.2' },
    ],
    ['NAME="The \\"Best\\""\nID=best\n', { id: 'best', name: 'The "Best"', version: '' }],
    ['ID=x\nNAME="a\u0007b"\nVERSION_ID="1&distro=y"\nID_LIKE=debian', { id: 'x', name: 'x', version: '' }],
    ['NAME=None\n', undefined],
    ['ID="a b"\n', undefined],
  ])('reads %j', (text, expected) => expect(readOsRelease(text)).toEqual(expected));
});
