/** Checks the exact commands of pack, of the engine and of Dokku with programs that take their places. */
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { dokkuDeployer } from '../deploy/dokku.ts';
import {
  dockerfileIn,
  planned,
  SOURCE,
  testContext,
  type TestContext,
} from '../../test/setup/runner/build-context.ts';
import { usePath } from '../../test/setup/runner/programs.ts';
import type { BuildOffer } from '../control-plane/wire.ts';
import type { BuiltImage } from './built-image.ts';
import { buildImage } from './image.ts';
import { packImage } from './pack.ts';
import { BUILDER_IMAGE, PACK_VERSION } from './pinned.ts';
import { pushImage, type Pushed } from './push.ts';

const offer: Partial<BuildOffer> = {
  ...SOURCE,
  variables: { COLOUR: 'green' },
  secrets: { API_KEY: 'sk-4711' },
  image: {
    host: 'reg.example',
    namespace: 'acme',
    repository: 'web',
    tag: '1',
    username: 'robot',
    password: 'reg-4711',
  },
  deploy: { kind: 'dokku', app: 'web', containerPort: 5000 },
  limits: { timeoutSeconds: 60, memoryMb: 512, cpus: 1.5, outputBytes: 1_000_000 },
};
const DIGEST = `sha256:${'a'.repeat(64)}`;
/** Plays `podman push`: writes the digest where it is asked to. */
const PUSHED = `for word; do case $word in --digestfile=*) printf ${DIGEST} >"\${word#*=}";; esac; done`;

function push(context: TestContext, built: BuiltImage = {}): Promise<Pushed> {
  return pushImage(context, { tag: 'localhost/svc-build:x', image: planned(context.plan, 'image'), built });
}

describe('packImage()', () => {
  const version = `if [ "$1" = version ]; then echo ${PACK_VERSION}+git-1; exit 0; fi`;

  it('calls the pinned pack with the pinned builder, variables in a file', async () => {
    const context = await testContext(offer);
    const program = context.fake('pack', `${version}\necho built`);
    await packImage(context, { program, folder: '/clone', tag: 'localhost/svc-build:x' });
    const envFile = join(context.workspace.secrets, 'pack.env');
    expect(context.calls('pack')).toEqual([
      ['version'],
      [
        'build',
        'localhost/svc-build:x',
        '--path=/clone',
        `--builder=${BUILDER_IMAGE}`,
        `--env-file=${envFile}`,
        '--pull-policy=if-not-present',
        '--trust-builder=false',
        '--no-color',
        '--docker-host=unix:///run/podman/podman.sock',
      ],
    ]);
    expect(readFileSync(envFile, 'utf8')).toBe('COLOUR=green\nAPI_KEY=sk-4711\n');
    expect(statSync(envFile).mode & 0o777).toBe(0o600);
    expect(context.text()).toContain('built');
  });

  it("takes the offer's builder, refuses another pack, and passes on how it failed", async () => {
    const builderImage = `reg.example/builder@${DIGEST}`;
    const context = await testContext({ ...offer, builderImage });
    const options = {
      program: context.fake('pack', `${version}\necho "no buildpack groups passed" >&2; exit 20`),
      folder: '/clone',
      tag: 't',
    };
    await expect(packImage(context, options)).rejects.toMatchObject({
      name: 'BuildFailed',
      exitCode: 20,
      message: 'buildpacks failed: no buildpack groups passed',
    });
    expect(context.calls('pack')[1]).toContain(`--builder=${builderImage}`);
    context.fake('pack', 'echo 0.1.0+git-1');
    await expect(packImage(context, options)).rejects.toThrow(
      `pack ${PACK_VERSION} is needed for buildpacks and this runner has 0.1.0`,
    );
  });
});

describe('buildImage()', () => {
  it('gives variables as arguments and secrets as files, and holds the limits', async () => {
    const context = await testContext(offer);
    context.fake('podman');
    await buildImage(context, dockerfileIn('/clone/web'), 'localhost/svc-build:x');
    const [argv = []] = context.calls('podman');
    const { secrets } = context.workspace;
    expect(argv).toEqual([
      '--log-level=error',
      'build',
      '--pull=missing',
      '--layers=false',
      '--force-rm',
      `--label=svc.work=${context.plan.id}-1`,
      '--label=svc.runner=rnr_test',
      '--build-arg=COLOUR=green',
      `--secret=id=API_KEY,src=${secrets}/secret-API_KEY`,
      `--secret=id=svc.work,src=${secrets}/marker`,
      `--authfile=${secrets}/registry/config.json`,
      '--memory=512m',
      '--memory-swap=512m',
      '--cpu-period=100000',
      '--cpu-quota=150000',
      '--tag=localhost/svc-build:x',
      '--file=/clone/web/Dockerfile',
      '/clone/web',
    ]);
    expect(readFileSync(`${secrets}/secret-API_KEY`, 'utf8')).toBe('sk-4711');
    expect(statSync(`${secrets}/secret-API_KEY`).mode & 0o777).toBe(0o600);
  });
});

describe('pushImage()', () => {
  it('uses credentials of this build alone and returns what the registry confirmed', async () => {
    const context = await testContext(offer);
    context.fake('podman', PUSHED);
    expect(await push(context)).toEqual({ digest: DIGEST });
    const file = `${context.workspace.secrets}/registry/config.json`;
    expect(context.calls('podman')).toEqual([
      [
        '--log-level=error',
        'push',
        `--authfile=${file}`,
        `--digestfile=${context.workspace.temporary}/digest`,
        'localhost/svc-build:x',
        'reg.example/acme/web:1',
      ],
    ]);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({
      auths: { 'reg.example': { auth: Buffer.from('robot:reg-4711').toString('base64') } },
    });
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it('tries again when the way there fails, and not when the registry says no', async () => {
    const context = await testContext(offer);
    context.fake(
      'podman',
      `if [ ! -f "$TMPDIR/once" ]; then touch "$TMPDIR/once"; echo "connection reset by peer" >&2; exit 125; fi\n${PUSHED}`,
    );
    expect(await push(context)).toEqual({ digest: DIGEST });
    expect(context.text()).toContain('connection reset by peer; trying again in 1 s');
    const refused = await testContext(offer);
    refused.fake('podman', 'echo "unauthorized: authentication required" >&2; exit 125');
    await expect(push(refused)).rejects.toThrow('the registry refused the credentials');
    expect(refused.calls('podman')).toHaveLength(1);
  });

  const OCI = 'application/vnd.oci.image.manifest.v1+json';

  it('asks podman for the type that the image has, so that it is certain, and for none where the registry refuses it', async () => {
    const context = await testContext(offer);
    context.fake('podman', PUSHED);
    expect(await push(context, { manifestType: OCI })).toEqual({ digest: DIGEST, mediaType: OCI });
    expect(context.calls('podman')[0]).toContain('--format=oci');
    const strict = await testContext(offer);
    strict.fake(
      'podman',
      `case "$*" in *--format=oci*) echo "uploading manifest 1: manifest invalid: manifest invalid" >&2; exit 125;; esac\n${PUSHED}`,
    );
    expect(await push(strict, { manifestType: OCI })).toEqual({ digest: DIGEST });
    expect(strict.calls('podman').map((argv) => argv.includes('--format=oci'))).toEqual([true, false]);
  });

  it("takes docker's word on the type where it is about the digest that was pushed", async () => {
    const pushed = async (digest: string) => {
      const context = await testContext(offer, 'docker');
      context.fake('docker', `echo "1: digest: ${DIGEST} size: 741"`);
      return await push(context, { descriptor: { mediaType: OCI, digest } });
    };
    expect(await pushed(DIGEST)).toEqual({ digest: DIGEST, mediaType: OCI });
    expect(await pushed(`sha256:${'b'.repeat(64)}`)).toEqual({ digest: DIGEST });
  });

  it('goes without TLS only where the target says so', async () => {
    const context = await testContext({
      ...offer,
      image: { host: '127.0.0.1:5000', repository: 'web', tag: '1', insecure: true },
    });
    context.fake('podman', PUSHED);
    await push(context);
    expect(context.calls('podman')[0]).toContain('--tls-verify=false');
  });
});

describe('dokkuDeployer', () => {
  const image = `reg.example/acme/web@${DIGEST}`;
  const encoded = (value: string) => Buffer.from(value).toString('base64');

  /** Deploys to a Dokku without the app, or with the app in this configuration. */
  async function deploy(env: Record<string, string>, config?: Record<string, string>) {
    const context = await testContext({
      ...offer,
      deploy: { kind: 'dokku', app: 'web', containerPort: 5000, environmentId: 'env_1' },
    });
    const values = Object.entries(config ?? {}).map(([name, value]) => `"web ${name}") printf '${value}';;`);
    context.fake(
      'dokku',
      `case $1 in
apps:exists) exit ${config === undefined ? 20 : 0};;
config:keys) printf '%s\\n' ${Object.keys(config ?? {}).join(' ')};;
config:get) case "$2 $3" in ${values.join(' ')} *) exit 1;; esac;;
registry:login) cat >/dev/null;;
url) echo http://web.example;;
esac`,
    );
    usePath(String(context.env['PATH']));
    const done = dokkuDeployer.deploy(context, {
      target: planned(context.plan, 'deploy'),
      image,
      env,
      bindAddress: '127.0.0.1',
      limits: { memoryMb: 64, cpus: 1, pids: 64 },
    });
    return { context, done };
  }

  it('sets variables, deploys the image by its digest and reports the address', async () => {
    const { context, done } = await deploy({ API_KEY: 'sk-4711' });
    expect(await done).toEqual({ address: 'http://web.example' });
    expect(context.calls('dokku')).toEqual([
      ['apps:exists', 'web'],
      ['apps:create', 'web'],
      ['registry:login', '--password-stdin', 'reg.example', 'robot'],
      [
        'config:set',
        '--no-restart',
        '--encoded',
        'web',
        `API_KEY=${encoded('sk-4711')}`,
        `SVC_DEPLOYED_VARIABLES=${encoded('API_KEY')}`,
        `SVC_DEPLOYED_ENVIRONMENT=${encoded('env_1')}`,
      ],
      ['storage:list', 'web'],
      ['ports:set', 'web', 'http:80:5000'],
      ['git:from-image', 'web', image],
      ['url', 'web'],
    ]);
    expect(JSON.stringify(context.calls('dokku'))).not.toContain('4711');
  });

  it('unsets what an earlier deploy set and this one does not, and nothing that others set', async () => {
    const { context, done } = await deploy(
      { KEPT: 'new' },
      {
        DATABASE_URL: 'postgres://by-hand',
        GONE: 'old-4711',
        KEPT: 'old',
        SVC_DEPLOYED_ENVIRONMENT: 'env_1',
        SVC_DEPLOYED_VARIABLES: 'KEPT GONE UNSET_BY_HAND',
      },
    );
    await done;
    const calls = context.calls('dokku').filter(([name = '']) => /^config:(?:un)?set$/.test(name));
    expect(calls).toEqual([
      ['config:unset', '--no-restart', 'web', 'GONE'],
      [
        'config:set',
        '--no-restart',
        '--encoded',
        'web',
        `KEPT=${encoded('new')}`,
        `SVC_DEPLOYED_VARIABLES=${encoded('KEPT')}`,
        `SVC_DEPLOYED_ENVIRONMENT=${encoded('env_1')}`,
      ],
    ]);
    expect(context.text()).not.toContain('DATABASE_URL');
  });

  it('takes an app over that no deploy has noted anything of, and leaves its variables', async () => {
    const { context, done } = await deploy({}, { DATABASE_URL: 'postgres://by-hand' });
    await done;
    expect(context.calls('dokku').map(([name]) => name)).not.toContain('config:unset');
  });

  it('changes nothing of the app of another environment', async () => {
    const { context, done } = await deploy({ A: '1' }, { SVC_DEPLOYED_ENVIRONMENT: 'env_2' });
    await expect(done).rejects.toThrow(
      'the app web of this machine belongs to environment env_2, this deploy is of env_1',
    );
    expect(context.calls('dokku').map(([name]) => name)).toEqual([
      'apps:exists',
      'config:keys',
      'config:get',
    ]);
  });

  it('refuses variables of its own names', async () => {
    const { context, done } = await deploy({ SVC_DEPLOYED_VARIABLES: 'x' });
    await expect(done).rejects.toThrow('variable SVC_DEPLOYED_VARIABLES is what deploys to Dokku keep');
    expect(context.calls('dokku')).toEqual([]);
  });
});
