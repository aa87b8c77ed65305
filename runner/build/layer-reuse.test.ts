/**
 * Tests which Dockerfiles are built from the beginning, because the engine would take layers that something
 * older has made.
 */
import { describe, expect, it } from 'vitest';
import { beginsWithImage, mayReuseLayers } from './layer-reuse.ts';

const base = 'FROM node:22\nCOPY . /app\n';

describe('mayReuseLayers()', () => {
  it.each([
    ['steps and files alone', 'RUN npm ci\nENV A=1\nWORKDIR $HOME/x\nCMD ["a"]'],
    ['variables in RUN', 'ARG V=1\nRUN echo $V ${V}\nENV PATH=$PATH:/x\nCMD echo $V'],
    ['a variable of FROM', 'ARG V=1\nFROM node:${V}\nRUN a'],
    [
      'a cache and a folder in memory',
      'RUN --mount=type=cache,target=/root/.npm --mount=type=tmpfs,target=/t a',
    ],
    ['names that only begin alike', 'ARG V\nWORKDIR /$VERSION'],
  ])('is so with %s', (_what, text) => expect(mayReuseLayers(base + text)).toBe(true));

  it.each([
    ['a secret', 'RUN --mount=type=secret,id=K a'],
    ['a secret on a continued line', 'RUN \\\n# why\n --mount=id=K,type=secret a'],
    ['a secret with quotes', "RUN --mo'un't=type=secret,id=K a"],
    ['a secret besides a cache', 'run --mount=type=cache,target=/c --mount=type=secret,id=K a'],
    ['a secret in a trigger', 'ONBUILD RUN --mount=type=secret,id=K a'],
    ['an agent', 'RUN --mount=type=ssh a'],
    ['mounted files', 'RUN --mount=source=f,target=/f a'],
    ['a cache that begins as files', 'RUN --mount=type=cache,target=/c,from=b,source=/x a'],
    ['a mount of a type that a variable says', 'ARG T=secret\nRUN --mount=type=$T,id=K a'],
    ['a here-document', 'RUN <<EOF\na\nEOF'],
    ['a variable in ENV', 'ARG V\nENV W=$V'],
    ['a variable in WORKDIR', 'ARG V=1\nWORKDIR /a/${V:-x}'],
    ['a variable in another variable', 'ARG A=1\nARG B=x$A'],
    ['a variable as owner', 'ARG U\nCOPY --chown=$U a /a'],
  ])('is not so with %s', (_what, text) => expect(mayReuseLayers(base + text)).toBe(false));
});

describe('beginsWithImage()', () => {
  const stages = 'FROM a:1 AS one\nRUN a\nFROM --platform=linux/amd64 b:1 AS two\nFROM One';
  it.each([
    ['FROM a:1\nRUN a', undefined, true],
    [stages, undefined, false],
    [stages, 'two', true],
    [stages, 'none', false],
    ['ARG V=1\nFROM a:$V', undefined, false],
  ])('%j with target %s', (text, target, expected) => expect(beginsWithImage(text, target)).toBe(expected));
});
