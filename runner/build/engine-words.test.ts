import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tempDir } from '../../test/setup/runner/temp-dir.ts';
import { explainFailure, plainOutput } from './engine-words.ts';

const STEP_DUMP =
  'Build error: Unknown instruction: "SET" &imagebuilder.Step{Env:[]string{"PATH=/bin"}, Command:"set", Args:[]string{""}, Original:"set -e"}';
const GET_DUMP =
  'error during bulk transfer for copier.request{Request:"GET", Globs:[]string{"/gone"}, GetOptions:copier.GetOptions{UIDMap:[]idtools.IDMap(nil)}}: copier: get: lstat "/gone"("/nowhere"): lstat /nowhere: no such file or directory';

function clone(): { clone: string; context: string } {
  const root = tempDir();
  const context = join(root, 'services/api');
  mkdirSync(context, { recursive: true });
  mkdirSync(join(root, 'shared'));
  writeFileSync(join(context, 'main.go'), '');
  symlinkSync('../../shared', join(context, 'shared'));
  symlinkSync('shared', join(context, 'twice'));
  symlinkSync('/nowhere', join(context, 'gone'));
  return { clone: root, context };
}

const failed = (line: string) => ({ code: 125, stdout: '', tail: `STEP 1/2\nError: ${line}\n` });

describe('explainFailure()', () => {
  it.each([
    [
      'building at STEP "COPY shared /shared": checking on sources under "/c": copier: stat: error resolving "/shared": open /shared: too many levels of symbolic links',
      'COPY shared /shared: shared is a link to ../../shared, which leads out of the context services/api, and nothing can be copied from there; set the context to a folder that holds both',
    ],
    [
      'building at STEP "COPY twice/x /x": checking on sources under "/c": copier: stat: "/twice/x": no such file or directory',
      'COPY twice/x /x: shared is a link to ../../shared, which leads out of the context services/api, and nothing can be copied from there; set the context to a folder that holds both',
    ],
    [
      `building at STEP "COPY gone /x": reading "/c/gone": ${GET_DUMP}`,
      'COPY gone /x: gone is a link to /nowhere, which leads out of the context services/api, and nothing can be copied from there; set the context to a folder that holds both',
    ],
    [
      'building at STEP "COPY go.sum /x": checking on sources under "/c": copier: stat: "/go.sum": no such file or directory',
      'COPY go.sum /x: there is no go.sum in the context services/api, or it is ignored there; it holds gone, main.go, shared, twice',
    ],
    [
      'building at STEP "COPY --from=one /y /y": checking on sources under "/m": copier: stat: "/y": no such file or directory',
      'COPY --from=one /y /y: there is no /y in the stage or image that it names',
    ],
    [`building at STEP "SET -e": ${STEP_DUMP}`, 'SET is no instruction of a Dockerfile'],
  ])('makes a sentence of %j', async (line, expected) => {
    expect(await explainFailure(failed(line), clone())).toBe(expected);
  });

  it('leaves what a step says of itself, without insides of the engine', async () => {
    expect(await explainFailure(failed('building at STEP "RUN exit 3": exit status 3'), clone())).toBe(
      'STEP 1/2; Error: building at STEP "RUN exit 3": exit status 3',
    );
    expect(await explainFailure(failed('something new copier.request{A:{1}} happened'), clone())).toBe(
      'STEP 1/2; Error: something new happened',
    );
  });
});

describe('plainOutput()', () => {
  it('takes the insides of the engine out of its own lines, wherever they are cut', async () => {
    const text = `make: {x}\nstep says copier\ntime="2026" msg="x"\nError: at: ${STEP_DUMP}\nprogress 1`;
    for (const size of [1, 7, 1_000]) {
      const out: string[] = [];
      const { onOutput, end } = plainOutput(
        async (_stream, chunk) => void out.push(Buffer.from(chunk).toString()),
      );
      for (let at = 0; at < text.length; at += size)
        await onOutput('stderr', Buffer.from(text.slice(at, at + size)));
      await end();
      expect(out.join('')).toBe(
        'make: {x}\nstep says copier\ntime="2026" msg="x"\nError: at: Build error: Unknown instruction: "SET"\nprogress 1',
      );
    }
  });
});
