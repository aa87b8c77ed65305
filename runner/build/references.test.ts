import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { BuildFailed } from './failure.ts';
import { checkDockerfile, problemOfDockerfile } from './references.ts';

const DIGEST = `sha256:${'0a'.repeat(32)}`;
const check = (text: string, given: Record<string, string> = {}) => problemOfDockerfile(text, given);

describe('problemOfDockerfile() takes', () => {
  it.each<[string, string, Record<string, string>?]>([
    [
      'scratch, tags, digests and registries',
      `FROM scratch\nFROM alpine\nFROM a.example:5000/b/c:1\nFROM x@${DIGEST}`,
    ],
    ['names of digits that bear a tag or a host', 'FROM cafe:latest\nFROM localhost/c13f'],
    [
      'stages, whatever they are called',
      'FROM alpine AS b\nFROM scratch as c13f\nCOPY --from=b / /\nFROM c13f\nRUN --mount=from=b,type=bind true',
    ],
    ['stages by number', 'FROM alpine\nFROM scratch\nCOPY --from=0 / /'],
    [
      'images to copy from',
      `FROM scratch\nCOPY --from=docker.io/library/golang:1 / /\nCOPY --chown=1:1 --from=x@${DIGEST} / /`,
    ],
    [
      'a platform',
      'FROM --platform=$BUILDPLATFORM golang:1.22 AS build\nFROM --platform="linux/amd64" alpine',
    ],
    ['variables with defaults', 'ARG BASE=alpine\nARG V="3.20"\nFROM ${BASE}:$V AS x\nFROM ${BASE:-debian}'],
    ['variables that the build sets', 'ARG BASE\nFROM $BASE', { BASE: 'debian:12' }],
    ['variables that nothing sets, with what stands for them', 'ARG BASE\nFROM ${BASE:-debian:12}'],
    [
      'the architecture in a name',
      'FROM alpine AS base-amd64\nFROM alpine AS base-arm64\nFROM base-$TARGETARCH\nFROM x/${TARGETOS}-y',
    ],
    [
      'lines that go on, with comments in between',
      'FROM \\\n# not this: 97e\n\n  alpine \\  \n AS x\nRUN a \\\n --from=97e',
    ],
    [
      'Windows line ends and a byte order mark',
      '\uFEFFFROM alpine\r\nRUN x \\\r\n y\r\nCOPY --from=alpine / /\r\n',
    ],
    ['programs in heredocs', 'FROM python\nRUN <<EOF\nfrom abc import ABC\nCOPY a b\nEOF\nCOPY --from=0 / /'],
    [
      'what names nothing',
      'FROM alpine\nENV FROM=97e\nLABEL from=97e\nRUN echo --from=97e\nCOPY 97e /\nADD --chown=97 c13f /',
    ],
    ['an empty file', ''],
  ])('%s', (_, text, given) => {
    expect(check(text, given)).toBeUndefined();
  });
});

describe('problemOfDockerfile() refuses', () => {
  it.each<[string, string, Record<string, string>?]>([
    ['three digits', 'FROM 97e'],
    ['one digit', 'from 9'],
    ['a whole id', `FROM ${'a'.repeat(64)}`],
    ['an id with its kind', 'FROM sha256:97e'],
    ['an id in capitals', 'FROM C13F'],
    ['a stage that comes later', 'FROM c13f\nFROM alpine AS c13f'],
    ['a stage in other letters', 'FROM alpine AS DEB\nFROM deb'],
    ['a number without such a stage', 'FROM alpine\nCOPY --from=1 / /'],
    ['a number in FROM', 'FROM alpine\nFROM 0'],
    ['an id to copy from', 'FROM alpine\nCOPY --from=97e / /'],
    ['an id to copy from, behind other flags', 'FROM alpine\nCOPY --chown=1:1 --link --from=97e / /'],
    ['an id behind a space of another alphabet', 'FROM alpine\nCOPY --chown=0\u0085--from=97e / /'],
    ['an id to add from', 'FROM alpine\nADD --from=97e / /'],
    ['an id to mount', 'FROM alpine\nRUN --mount=type=bind,from=97e,target=/m ls'],
    [
      'an id to mount, in another mount',
      'FROM alpine\nRUN --mount=type=tmpfs,target=/t --mount=from=97e,target=/m ls',
    ],
    ['an id to mount, in quotes', 'FROM alpine\nRUN --mount="type=bind,from=97e" ls'],
    ['an id to mount, in quotes of the list', `FROM alpine\nRUN --mount=type=bind,'"from=97e"' ls`],
    ['an id to mount, with spaces', 'FROM alpine\nRUN --mount="type=bind, FROM = 97e" ls'],
    ['an escape in flags', 'FROM alpine\nRUN --mount=type=bind,fr\\om=97e ls'],
    ['a variable to copy from', 'ARG X=97e\nFROM alpine\nARG X\nCOPY --from=$X / /'],
    ['a trigger that copies from an id', 'FROM alpine\nONBUILD COPY --from=97e / /'],
    ['a trigger for a stage', 'FROM alpine\nONBUILD FROM alpine AS 97e\nFROM 97e'],
    ['an id behind a platform', 'FROM --platform=linux/amd64 97e AS x'],
    ['an id behind a platform with a space', 'FROM --platform="linux amd64" 97e'],
    ['an id in quotes', 'FROM "97e"'],
    ['an id in parts of quotes', "FROM 9'7e'"],
    ['an id on the next line', 'FROM \\\n97e'],
    ['an id behind a comment', 'FROM \\\n# alpine\n97e'],
    ['an id cut by a line', 'FROM 9\\\n7e'],
    ['an id by default', 'ARG X=97e\nFROM $X'],
    ['an id by default, in quotes', 'ARG X="97e"\nFROM ${X}'],
    ['an id of two parts', 'ARG A=9\nARG B=${A}7e\nFROM $B'],
    ['an id of a build argument', 'ARG X=alpine\nFROM $X', { X: '97e' }],
    ['a build argument that is not declared', 'FROM ${X}', { X: '97e' }],
    ['an id in place of nothing', 'ARG X\nFROM ${X:-97e}'],
    ['an id in place of something', 'ARG X=1\nFROM ${X:+97e}'],
    ['an id beside variables that some engines lack', 'FROM 97e$TARGETARCH'],
    ['the same with a stage of the full name', 'FROM alpine AS 97eamd64\nFROM 97e$TARGETARCH'],
    ['the same with a default', 'FROM 97e${TARGETVARIANT-z}'],
    ['the same declared with another value', 'ARG TARGETVARIANT=z\nFROM 97e$TARGETVARIANT'],
    ['the same set by the build', 'ARG TARGETARCH\nFROM 97e$TARGETARCH', { TARGETARCH: 'z' }],
    ['a variable that an engine has of its own', 'FROM 97e${no_proxy-z}'],
    ['one that is declared twice', 'ARG X=z\nARG X\nFROM 97e$X'],
    ['one with an escape', 'ARG X=\\z\nFROM 97e$X'],
    ['one with an open quote', 'ARG X="z\nFROM 97e$X'],
    ['expansions that not every engine has', 'ARG X=97ez\nFROM ${X%z}'],
    ['another escape character', '# escape=`\nFROM `\n97e'],
    ['stages that may be text', 'FROM alpine\nRUN <<EOF\nFROM alpine AS 97e\nEOF\nFROM 97e'],
    [
      'numbers of stages that may be text',
      'FROM alpine\nRUN <<EOF\nFROM alpine\nEOF\nFROM scratch\nCOPY --from=2 / /',
    ],
    ['archives', 'FROM oci-archive:etc\nRUN x'],
    ['folders', 'FROM dir:/'],
    ['other stores', 'FROM containers-storage:alpine'],
    ['NULs', 'FROM alpine\0'],
  ])('%s', (_, text, given) => {
    expect(check(text, given)).toEqual(expect.any(String));
  });

  it('says the line, the word and what to write', () => {
    expect(check('# x\nFROM alpine\n\nARG X\nCOPY \\\n --from=97e / /')).toBe(
      'line 5: "--from=97e": it could be the id of any image of the machine; give the name with its tag or digest, such as name:latest or name@sha256:<64 digits>',
    );
    expect(check('ARG X=97\nFROM ${X}e')).toMatch(/^line 2: FROM "\$\{X\}e" \("97e"\): it could be the id/);
  });

  it('any file within a moment', () => {
    const n = 1_000_000;
    const files = [
      '\n'.repeat(n),
      `${' '.repeat(n)}#`,
      `FROM ${'$A'.repeat(n / 2)}`,
      `ARG A=xx\n${'ARG A=$A$A\n'.repeat(n / 12)}FROM $A`,
      `FROM a\nRUN --mount=" ${' '.repeat(n)}from= x${' '.repeat(n / 2)}y"`,
      `FROM a\n${'RUN \\\n'.repeat(n / 6)}`,
      `${'\\ '.repeat(n / 2)}x`,
      `ARG ${`"'`.repeat(n / 2)}`,
      'FROM a AS b\n'.repeat(n / 12),
      `FROM ${'a-'.repeat(n / 2)}`,
    ];
    for (const text of files) {
      const begun = performance.now();
      check(text);
      expect(performance.now() - begun).toBeLessThan(2_000);
    }
  });
});

describe('checkDockerfile()', () => {
  const file = async (name: string, text: string): Promise<string> => {
    const folder = await mkdtemp(join(tmpdir(), 'svc-references-'));
    onTestFinished(async () => await rm(folder, { recursive: true }));
    await writeFile(join(folder, name), text);
    return join(folder, name);
  };

  it('fails the build, and not the machine', async () => {
    await expect(checkDockerfile(await file('Dockerfile', 'FROM 97e'), {})).rejects.toThrow(BuildFailed);
    await expect(checkDockerfile(await file('Dockerfile', 'FROM alpine'), {})).resolves.toBe('FROM alpine');
  });

  it('takes no templates, which an engine would fill from files of the machine', async () => {
    await expect(checkDockerfile(await file('Dockerfile.in', 'FROM alpine'), {})).rejects.toThrow(
      'templates (.in)',
    );
  });

  it('reads no more than it must', async () => {
    const path = await file('Dockerfile', `FROM alpine\n${'#'.repeat(1_048_576)}`);
    await expect(checkDockerfile(path, {})).rejects.toThrow('has 1048588 bytes, at most 1048576');
  });
});
