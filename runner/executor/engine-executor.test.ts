/** Tests engines that misbehave: small programs in the place of podman and docker. */
import { readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { createDockerExecutor } from './docker.ts';
import { probe } from './engine-setup.ts';
import { EngineExecutor, parseLeftover } from './engine-executor.ts';
import { createTeamImages } from './team-images.ts';
import { detectExecutor, ExecutorUnavailableError, surveyExecutors } from './detect.ts';
import {
  hostCommandLines,
  makeSpec,
  runToEnd,
  type SpecChanges,
} from '../../test/setup/runner/executor-fixtures.ts';
import { tempDir } from '../../test/setup/runner/temp-dir.ts';
import { programsFirst, programsIn } from '../../test/setup/runner/programs.ts';

const TIMEOUTS = { createMs: 400, callMs: 400, removeMs: 400, startMs: 300 };

describe('an engine that misbehaves', () => {
  let folder: string;
  let logged: string[];
  beforeEach(() => {
    folder = tempDir();
    logged = [];
  });

  /** `cases` are the branches of a shell `case` on the first word after the global flags. */
  function engine(cases: string): EngineExecutor {
    const script = `echo "$@" >>'${folder}/calls'\nshift\ncase $1 in\n${cases}\n*) exit 0;;\nesac`;
    const program = join(programsIn(folder, { engine: script }), 'engine');
    return new EngineExecutor({
      engine: { name: 'docker', program, processesPerUser: 1024, timeouts: TIMEOUTS },
      cgroups: undefined,
      rootless: false,
      runnerId: 'rnr_test',
      launchFolder: folder,
      defaultImage: 'localhost/base:1',
      images: createTeamImages(folder),
      description: 'fake',
      log: (message) => void logged.push(message),
    });
  }

  const ran = async (cases: string, changes?: SpecChanges) =>
    await runToEnd(engine(cases), makeSpec(['true'], changes));
  const calls = async () => await readFile(join(folder, 'calls'), 'utf8');
  const launchFolders = async () => (await readdir(folder)).filter((name) => name.startsWith('cp-'));

  it('that hangs while creating makes an engine error, and nothing is left', async () => {
    const run = await ran('create) exec sleep 3011;;');
    expect(run.reason).toBe('engine_error');
    expect(run.message).toContain('did not answer within 400 ms');
    expect(await launchFolders()).toEqual([]);
    expect((await hostCommandLines()).filter((line) => line === 'sleep 3011')).toEqual([]);
  });

  it('that never starts the container makes an engine error', async () => {
    const pid = `'${folder}/pid'`;
    const run = await ran(
      `start) echo $$ >${pid}; exec sleep 3012;;\ninspect) echo '{"Status":"created"}';;\nkill) kill -9 $(cat ${pid});;`,
    );
    expect(run).toMatchObject({
      reason: 'engine_error',
      message: 'docker has not started the container after 0.3 s: its state is created',
    });
    expect((await hostCommandLines()).filter((line) => line === 'sleep 3012')).toEqual([]);
  });

  it('that has no such image names the image and the way out', async () => {
    const run = await ran(`image) echo 'Error: No such image: x:1' >&2; exit 1;;`, { image: 'x:1' });
    expect(run).toMatchObject({
      reason: 'engine_error',
      message: 'image x:1 is not on this machine and sandboxes never pull; run: docker pull x:1',
    });
  });

  it('runs what bears the very name that was asked for, by its full id, and nothing that the engine took for it', async () => {
    const id = `sha256:${'c13f'.repeat(16)}`;
    const answer = (...names: string[]) => `image) echo '${id} ${JSON.stringify(names)} [] {}';;`;
    await ran(answer('other:1', 'beef:latest'), { image: 'beef:latest' });
    expect(await calls()).toContain(' docker.io/library/beef:latest\n');
    expect(await calls()).toMatch(new RegExp(` create .* ${id} /run/svc/launch true\n`));
    for (const names of [['other:1'], [], ['quay.io/x/beef:latest'], ['<none>:<none>']]) {
      await writeFile(join(folder, 'calls'), '');
      const run = await ran(answer(...names), { image: 'beef:latest' });
      expect(run.message).toContain('image beef:latest is not on this machine');
      expect(await calls()).not.toContain(' create ');
    }
  });

  it('that cannot look for the image says so, and not that there is none', async () => {
    const run = await ran(`image) echo 'the store is locked' >&2; exit 125;;`, { image: 'x:1' });
    expect(run).toMatchObject({
      reason: 'engine_error',
      message: expect.stringContaining('the store is locked') as string,
    });
  });

  it('that fails to start reports its own words, not an exit of the task', async () => {
    const state =
      '{"Status":"created","ExitCode":127,"StartedAt":"0001-01-01T00:00:00Z","Error":"runtime is broken"}';
    const run = await ran(`start) echo boom >&2; exit 125;;\ninspect) echo '${state}';;`);
    expect(run.reason).toBe('engine_error');
    expect(run.exitCode).toBeUndefined();
    expect(run.message).toContain('runtime is broken');
  });

  it('that loses the container makes an engine error with what it said', async () => {
    const run = await ran(`start) echo 'daemon gone' >&2; exit 1;;\ninspect) exec sleep 3013;;`);
    expect(run.reason).toBe('engine_error');
    expect(run.message).toContain('lost the container');
    expect(run.message).toContain('daemon gone');
  });

  it('believes the state of the container, not the exit code of the client', async () => {
    const state = (code: number, oom: boolean) =>
      `{"Status":"exited","ExitCode":${code},"OOMKilled":${oom},"StartedAt":"2026-01-01T00:00:00Z"}`;
    const ended = async (code: number, oom: boolean) =>
      await ran(`start) exit 1;;\ninspect) echo '${state(code, oom)}';;`);
    expect(await ended(125, false)).toMatchObject({ reason: 'exit', exitCode: 125 });
    expect(await ended(137, true)).toMatchObject({ reason: 'memory', exitCode: 137, signal: 'SIGKILL' });
    // A child was killed for memory and the task went on.
    expect(await ended(0, true)).toMatchObject({ reason: 'exit', exitCode: 0 });
  });

  it('does not remove a container of that name which is not its own', async () => {
    const run = await ran(
      `create) echo 'the container name "x" is already in use by container' >&2; exit 125;;`,
    );
    expect(run.message).toContain('exists already');
    expect(await calls()).not.toMatch(/^\S+ rm /m);
  });

  it('logs a container that cannot be removed', async () => {
    const state = '{"Status":"exited","ExitCode":0,"StartedAt":"2026-01-01T00:00:00Z"}';
    const run = await ran(`inspect) echo '${state}';;\nrm) exit 1;;\nps) echo abc;;`);
    expect(run).toMatchObject({ reason: 'exit', exitCode: 0 });
    expect(logged).toEqual([expect.stringContaining('not cleaned up')]);
  });

  it('is asked twice by the probe when the task ended well and its output did not come', async () => {
    const told = (times: string) =>
      `start) echo x >>'${folder}/starts'; [ $(wc -l <'${folder}/starts') ${times} ] && echo sandbox-probe; exit 0;;
inspect) echo '{"Status":"exited","ExitCode":0,"StartedAt":"2026-11-22T10:00:00Z"}';;`;
    expect(await probe(engine(told('-ge 2')), 'rnr_test')).toBeUndefined();
    await rm(join(folder, 'starts'));
    expect(await probe(engine(told('-ge 9')), 'rnr_test')).toBe('probe ended with exit 0: no output');
    expect(await readFile(join(folder, 'starts'), 'utf8')).toBe('x\nx\n');
  });

  it('reaps by label and deadline, and says what it could not list', async () => {
    const labels = (work: string, deadline: number) =>
      `{"cp.work":"${work}","cp.epoch":"2","cp.deadline":"${deadline}"}`;
    const lines = [
      `a /cp-w1-2 ${labels('w1', 9e9)}`,
      `b /cp-w2-2 ${labels('w2', 9e9)}`,
      `c /cp-w3-2 ${labels('w3', 1)}`,
    ];
    const executor = engine(`ps) printf 'a\\nb\\nc\\n';;\ninspect) cat <<'E'\n${lines.join('\n')}\nE\n;;`);
    expect(await executor.reap(({ id }) => id !== 'w2')).toEqual([
      { id: 'w2', epoch: 2 },
      { id: 'w3', epoch: 2 },
    ]);
    await expect(engine('ps) echo dead >&2; exit 1;;').reap(() => true)).rejects.toThrow(
      'docker cannot list containers: dead',
    );
  });
});

describe('parseLeftover()', () => {
  it('ignores lines without our labels', () => {
    expect(parseLeftover('')).toEqual([]);
    expect(parseLeftover('abc name {"other":"x"}')).toEqual([]);
    expect(parseLeftover('abc name null')).toEqual([]);
  });
});

describe('detectExecutor()', () => {
  it('says for every candidate what was tried and what to install', async () => {
    programsFirst({
      docker:
        '[ "$1" = --version ] && echo "Docker version 1" && exit 0\necho "Cannot connect to the Docker daemon" >&2; exit 1',
    });
    const options = { dataDir: tempDir(), runnerId: 'rnr_test', log: () => undefined };
    await expect(createDockerExecutor(options)).rejects.toThrow(
      /daemon does not answer \(Cannot connect to the Docker daemon\); start it/,
    );
    const failed = await detectExecutor({ ...options, wanted: 'docker' }).catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(ExecutorUnavailableError);
    const survey = await surveyExecutors(options);
    expect(survey.map(({ name }) => name)).toEqual(['podman', 'docker', 'namespaces']);
    expect(survey[1]).toEqual({
      name: 'docker',
      works: false,
      detail: expect.stringMatching(/^the docker daemon does not answer/) as string,
    });
    expect((failed as ExecutorUnavailableError).attempts).toEqual([
      expect.stringMatching(/^docker: the docker daemon does not answer/),
    ]);
  });
});
