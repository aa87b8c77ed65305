import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { run } from '../shell/run.ts';
import { useBundledCli } from '../testing/bundle.ts';
import { fakeIo } from '../testing/fake-io.ts';

const examples = join(import.meta.dirname, '..', '..', 'test', 'fixtures', 'connect', 'ci-files');
const cli = await useBundledCli();
let tree = '';

beforeEach(async () => {
  tree = await mkdtemp(join(tmpdir(), 'svc-validate-'));
});
afterEach(() => rm(tree, { recursive: true, force: true }));

async function put(path: string, example: string): Promise<void> {
  await mkdir(dirname(join(tree, path)), { recursive: true });
  await cp(join(examples, example), join(tree, path));
}

/** There is neither an address nor a credential. */
async function validate(...flags: readonly string[]): Promise<{ code: number; out: string; err: string }> {
  const io = fakeIo({ env: { NO_COLOR: '1', SVC_BASE_URL: 'http://127.0.0.1:1' } });
  const code = await run(['ci', 'validate', '--dir', tree, ...flags], io);
  return { code, out: io.out(), err: io.err() };
}

describe('svc ci validate', () => {
  it('finds the files of a tree by their paths, and by content where the name is free', async () => {
    await put('.github/workflows/pages.yml', 'github/starter-workflows__pages__jekyll-gh-pages.yml');
    await put('.github/workflows/nested/no.yml', 'github/starter-workflows__ci__go.yml');
    await put('azure-ci.yml', 'azure/cypress-example-kitchensink__azure-ci.yml');
    await put('buildspec.yml', 'other/cypress-example-kitchensink__buildspec.yml');
    await put('Jenkinsfile', 'jenkins/cypress-example-kitchensink__Jenkinsfile');
    const { code, out } = await validate('--json');
    const { valid, files } = JSON.parse(out);
    expect([code, valid]).toEqual([0, true]);
    expect(files.map(({ path, provider }: Record<string, string>) => `${path} ${provider}`)).toEqual([
      '.github/workflows/pages.yml github',
      'Jenkinsfile jenkins',
      'azure-ci.yml azure',
    ]);
  });

  it('ends with a line that says which files failed', async () => {
    await put('.github/workflows/ci.yml', 'github/starter-workflows__ci__go.yml');
    const good = await validate();
    expect([good.code, good.out.trimEnd().split('\n').at(-1)]).toEqual([0, '1 file, no errors']);
    await writeFile(join(tree, '.gitlab-ci.yml'), 'a: [\n');
    await writeFile(join(tree, 'Jenkinsfile'), Buffer.from('\uFEFFnode { }', 'utf16le'));
    const bad = await validate();
    expect(bad.code).toBe(1);
    expect(bad.out.trimEnd().split('\n').at(-1)).toBe('2 of 3 files failed: .gitlab-ci.yml, Jenkinsfile');
    expect(JSON.parse((await validate('--json')).out)).toMatchObject({
      valid: false,
      failed: ['.gitlab-ci.yml', 'Jenkinsfile'],
    });
  });

  it('follows no links and no submodules, as discovery does not', async () => {
    await put('azure-ci.yml', 'azure/cypress-example-kitchensink__azure-ci.yml');
    await put('elsewhere/ci.yml', 'github/starter-workflows__ci__go.yml');
    await mkdir(join(tree, '.circleci/.git'), { recursive: true });
    await symlink(join(tree, 'azure-ci.yml'), join(tree, '.gitlab-ci.yml'));
    await symlink(join(tree, 'elsewhere'), join(tree, '.buildkite'));
    await symlink(join(tree, 'azure-ci.yml'), join(tree, 'README.md'));
    const { code, out } = await validate('--json');
    const { failed, files } = JSON.parse(out);
    expect([code, failed]).toEqual([1, ['.buildkite', '.circleci', '.gitlab-ci.yml']]);
    const messages = files.flatMap(({ problems }: Record<string, Array<{ message: string }>>) => problems);
    expect(messages.map(({ message }: { message: string }) => message)).toEqual([
      'a symbolic link, which is not followed',
      'a submodule, which is not followed',
      'a symbolic link, which is not followed',
    ]);
    for (const path of ['.gitlab-ci.yml', '.buildkite/ci.yml']) {
      const named = await validate('--file', join(tree, path));
      expect(named.code).toBe(1);
      expect(named.out).toContain('a symbolic link, which is not followed');
    }
  });

  it('does not take a file of another CI system for one that it reads', async () => {
    const file = join(tree, '.travis.yml');
    await writeFile(
      file,
      'jobs: {script: make}\ndeploy: {provider: heroku, script: make}\nscript: {script: x}\n',
    );
    const { code, out } = await validate('--file', file);
    expect(code).toBe(1);
    expect(out).toContain('.travis.yml (unknown)\n');
    expect(out).toContain('error: a file of Travis CI, which is not read');
    expect(out).not.toContain('gitlab');
  });

  it('passes over files of helpers beside those of CI systems', async () => {
    await put('.buildkite/pipeline.yml', 'buildkite/cypress-example-kitchensink__buildkite__pipeline.yml');
    await writeFile(join(tree, '.buildkite/docker-compose.yml'), 'services: {web: {image: x}}\n');
    const { code, out } = await validate();
    expect(code).toBe(0);
    expect(out).not.toContain('docker-compose');
    const named = await validate('--file', join(tree, '.buildkite/docker-compose.yml'));
    expect(named.code).toBe(1);
    expect(named.out).toContain('its content is no pipeline');
  });

  it('shows jobs, triggers and why it deploys', async () => {
    await put('.github/workflows/pages.yml', 'github/starter-workflows__pages__jekyll-gh-pages.yml');
    const { code, out } = await validate();
    expect(code).toBe(0);
    expect(out).toContain(
      '  jobs      build, deploy\n  triggers  push, workflow_dispatch\n  deploys   yes\n',
    );
    expect(out).toContain(
      '.github/workflows/pages.yml:43: the job deploy has an environment: environment:\n',
    );
  });

  it('ends with 1 where nothing would be found', async () => {
    const { code, out, err } = await validate();
    expect([code, out]).toEqual([1, '']);
    expect(err).toContain(`no file of a CI system in ${tree}`);
  });

  it('ends with 1 and says where, when a file has errors', async () => {
    await put('.github/workflows/ci.yml', 'github/starter-workflows__ci__go.yml');
    await writeFile(join(tree, '.gitlab-ci.yml'), 'a:\n\tscript: x\n');
    const { code, out } = await validate();
    expect(code).toBe(1);
    expect(out).toContain('  .gitlab-ci.yml:2:1: error: not YAML');
  });

  it('ends with 1 for a file that discovery does not look at, but shows what is in it', async () => {
    await put('ci/workflow.yml', 'github/starter-workflows__ci__go.yml');
    const file = join(tree, 'ci/workflow.yml');
    const { code, out } = await validate('--file', file);
    expect(code).toBe(1);
    expect(out).toContain('error: discovery does not look at ci/workflow.yml');
    const named = await validate('--file', file, '--provider', 'github');
    expect(named.code).toBe(0);
    expect(named.out).toContain('pipeline  Go\n');
  });

  it('takes the repository around a file for the working tree', async () => {
    await put('.gitlab-ci.yml', 'gitlab/cypress-example-kitchensink__basic__.gitlab-ci.yml');
    await mkdir(join(tree, '.git'));
    const io = fakeIo({ env: { NO_COLOR: '1' } });
    expect(await run(['ci', 'validate', '--file', join(tree, '.gitlab-ci.yml')], io)).toBe(0);
    expect(io.out()).toContain('.gitlab-ci.yml (gitlab)\n  pipeline  .gitlab-ci.yml\n  jobs      test\n');
  });

  it('lets no file write to the terminal', async () => {
    await writeFile(join(tree, '.gitlab-ci.yml'), '"a\\e[31m":\n  script: x\n');
    const { code, out } = await validate();
    expect(code).toBe(0);
    expect(out).not.toContain('\u001b');
  });

  it('asks for a file that is there', async () => {
    const { code, err } = await validate('--file', join(tree, 'none.yml'));
    expect(code).toBe(2);
    expect(err).toContain('none.yml cannot be read');
  });

  it('runs in the program as it is shipped, which holds the reader of YAML', async () => {
    await put('.github/workflows/ci.yml', 'github/starter-workflows__ci__go.yml');
    const { code, stdout, stderr } = await cli.run(['ci', 'validate', '--dir', tree]);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toContain('pipeline  Go\n');
  });
});
