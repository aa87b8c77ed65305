/**
 * Makes a plan of an offer and checks every text of it: they come from the control plane and end up in
 * argument lists, paths, addresses and names of images. The functions are pure; a text that passes can be
 * read as nothing else than its kind.
 */
import { checkImage, checkLimits, InvalidSpecError, quote } from '../executor/spec.ts';
import { readDatabases, type DatabasePlan } from './database-plan.ts';
import { readMounts, type Mount } from './mount-plan.ts';
import type {
  BuildOffer,
  WireBuildSource,
  WireBuildType,
  WireDeployTarget,
  WireImageTarget,
} from '../control-plane/wire.ts';
import { BUILDER_IMAGE } from './pinned.ts';

/** The contract's defaults, for an offer that leaves limits out. */
const DEFAULT_LIMITS = { timeoutSeconds: 1_800, memoryMb: 2_048, cpus: 2, outputBytes: 67_108_864 };

const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]{0,254}$/;
/** The rules of git check-ref-format; the name is an argument only behind `refs/heads/` and `refs/tags/`. */
const BRANCH = /^(?![-/.])(?!.*(?:\.\.|@\{|\/\/|\/\.|\.lock(?:\/|$)))[^\s\p{Cc}~^:?*[\\]{1,244}(?<![/.])$/u;
/** Names of stages; a number is the place of one. */
const TARGET = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
const CLONE_DEPTH_MAX = 10_000;
const COMMIT = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;
const APP = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const ENVIRONMENT = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;
const SCP_LIKE = /^([A-Za-z0-9._-]+)@([A-Za-z0-9.-]+):(?!\/\/)([^\s:][^\s]*)$/;
/**
 * A name or an address, with a port if any. The URL parser accepts `$ ( ) ; "` in the host of an ssh address.
 */
const GIT_HOST = /^(?!-)[A-Za-z0-9.:_[\]-]+$/;
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;
const REGISTRY_HOST = /^[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::\d{1,5})?$/;
const DIGEST = /@sha256:[0-9a-f]{64}$/;
/** An address holds neither control characters nor spaces. */
const PRINTABLE = /^[\x21-\x7e]+$/;

export interface SourcePlan {
  /** The address has no credentials in it. */
  url: string;
  transport: 'https' | 'http' | 'ssh';
  /** The host with its port, in git's spelling when it asks for credentials. */
  host: string;
  /** The name of a branch or a tag; it is the full name if it begins with `refs/`. */
  branch: string;
  commit?: string;
  buildPath: string;
  dockerfile?: string;
  context?: string;
  target?: string;
  submodules: boolean;
  cloneDepth: number;
  /** It is true where the tags of the commits that are cloned come with them. */
  tags: boolean;
  username?: string;
  token?: string;
  sshKey?: string;
  knownHosts?: string;
}

export interface ImagePlan {
  host: string;
  /** `host/namespace`: what the names of the team's images begin with. */
  home: string;
  /** `host/namespace/repository`. */
  name: string;
  /** The whole tag, or its beginning, as tagOf explains. */
  tag: string;
  commitInTag: boolean;
  username?: string;
  password?: string;
  insecure: boolean;
  /** Nothing is published there unless the registry refuses callers without a credential. */
  guarded: boolean;
  /** The service's local registry. */
  local: boolean;
}

export interface DeployPlan {
  kind: 'container' | 'dokku';
  app: string;
  containerPort: number;
  hostPort: number;
  /** The environment that the app belongs to; absent from a control plane that does not send it. */
  environment?: string;
  mounts: readonly Mount[];
  databases: readonly DatabasePlan[];
}

export interface BuildPlan {
  id: string;
  epoch: number;
  /** The team that the build belongs to; from a control plane that does not send it, the build's own id. */
  team: string;
  /** The machine builds for teams that do not trust each other. */
  shared: boolean;
  source?: SourcePlan;
  buildType: WireBuildType;
  variables: Readonly<Record<string, string>>;
  secrets: Readonly<Record<string, string>>;
  steps: readonly string[];
  image?: ImagePlan;
  deploy?: DeployPlan;
  deployImage?: string;
  /** Its steps have one of their own. */
  testDatabase?: DatabasePlan;
  limits: { timeoutSeconds: number; memoryMb: number; cpus: number; outputBytes: number };
  builderImage: string;
}

export interface PlanOptions {
  /** Allows to clone by plain http from loopback addresses. */
  allowInsecureGit: boolean;
}

/** Throws InvalidSpecError; the message names the field, its value and what is allowed. */
export function planOf(offer: BuildOffer, options: PlanOptions): BuildPlan {
  const { variables = {}, secrets = {}, steps = [] } = offer;
  for (const [name, value] of [...Object.entries(variables), ...Object.entries(secrets)]) {
    if (!VARIABLE.test(name))
      refuse('variable name', name, 'letters, digits and underscores, no digit first');
    if (value.includes('\0')) throw new InvalidSpecError(`variable ${name} holds a NUL character`);
  }
  for (const step of steps)
    if (step.includes('\0')) throw new InvalidSpecError('a build step holds a NUL character');
  const deployImage = offer.deployImage || undefined;
  if ((offer.source === undefined) === (deployImage === undefined))
    throw new InvalidSpecError(
      'the build has neither or both of a source and an image to deploy, expected one',
    );
  if (deployImage !== undefined) {
    checkImage(deployImage);
    if (!DIGEST.test(deployImage))
      refuse('deployImage', deployImage, 'a reference with a digest, name@sha256:…');
    if (offer.deploy === undefined)
      throw new InvalidSpecError('an image to deploy, and no target to deploy it on');
  }
  const builderImage = offer.builderImage || BUILDER_IMAGE;
  checkImage(builderImage);
  return {
    id: offer.id,
    epoch: offer.epoch,
    team: offer.teamId || offer.id,
    shared: offer.shared === true,
    ...(offer.source === undefined ? {} : { source: sourceOf(offer.source, options) }),
    buildType: offer.buildType ?? 'auto',
    variables,
    secrets,
    steps,
    ...(offer.image === undefined ? {} : { image: imageOf(offer.image, deployImage !== undefined) }),
    ...(offer.deploy === undefined ? {} : { deploy: deployOf(offer.deploy) }),
    ...(deployImage === undefined ? {} : { deployImage }),
    ...testedWith(offer),
    limits: limitsOf(offer),
    builderImage,
  };
}

/** Returns all values of an offer that must not show up in output. */
export function secretsOfBuild(offer: BuildOffer): string[] {
  const { source = {}, image = {} } = offer;
  const held = [source.token, source.sshKey, image.password, ...Object.values(offer.secrets ?? {})];
  return held.filter((secret) => secret !== undefined && secret !== '') as string[];
}

function sourceOf(source: WireBuildSource, options: PlanOptions): SourcePlan {
  const { repository = '', branch = '', buildPath = '.' } = source;
  const address = addressOf(repository, options);
  if (!BRANCH.test(branch) || /^refs\/(?!heads\/|tags\/)/.test(branch))
    refuse('branch', branch, 'the name of a branch or a tag');
  const commit = source.commit || undefined;
  if (commit !== undefined && !COMMIT.test(commit)) refuse('commit', commit, '40 or 64 hexadecimal digits');
  const { dockerfile = '', context = '', target = '', cloneDepth = 0 } = source;
  for (const [field, path] of Object.entries({ buildPath, dockerfile, context })) checkPath(field, path);
  if (target !== '' && !TARGET.test(target)) refuse('target', target, 'the name of a stage');
  if (!Number.isInteger(cloneDepth) || cloneDepth < 0 || cloneDepth > CLONE_DEPTH_MAX)
    refuse('cloneDepth', String(cloneDepth), `a whole number up to ${CLONE_DEPTH_MAX}`);
  if (/[\n\r\0]/.test(`${source.username ?? ''}${source.token ?? ''}`))
    throw new InvalidSpecError('the git user name or token holds a line break');
  return {
    ...address,
    branch,
    ...(commit === undefined ? {} : { commit }),
    buildPath: buildPath === '' ? '.' : buildPath,
    ...set('dockerfile', dockerfile),
    ...set('context', context),
    ...set('target', target),
    submodules: source.submodules === true,
    cloneDepth: cloneDepth || 1,
    tags: source.tags === true,
    ...set('username', source.username),
    ...set('token', source.token),
    ...set('sshKey', source.sshKey),
    ...set('knownHosts', source.knownHosts),
  };
}

function checkPath(field: string, path: string): void {
  const segments = path.split('/');
  if (path.startsWith('/') || segments.includes('..') || segments.includes('.git') || /[\0\n\r]/.test(path))
    refuse(field, path, 'a relative path inside of the repository');
}

function set<K extends string>(name: K, value: string | undefined): Partial<Record<K, string>> {
  return value === undefined || value === '' ? {} : ({ [name]: value } as Record<K, string>);
}

function addressOf(repository: string, options: PlanOptions): Pick<SourcePlan, 'url' | 'transport' | 'host'> {
  const wanted = 'https://host/path, ssh://user@host/path or user@host:path';
  if (!PRINTABLE.test(repository) || repository.startsWith('-')) refuse('repository', repository, wanted);
  const scp = SCP_LIKE.exec(repository);
  if (scp !== null) return { url: repository, transport: 'ssh', host: gitHost(scp[2] ?? '') };
  // `ext::sh -c …` and the like are no URLs to Node's parser.
  const url = URL.canParse(repository) ? new URL(repository) : undefined;
  if (url === undefined) return refuse('repository', repository, wanted);
  if (url.password !== '' || (url.username !== '' && url.protocol !== 'ssh:'))
    throw new InvalidSpecError(
      'the repository address holds credentials; register them as git credentials instead',
    );
  if (url.protocol === 'https:') return { url: url.href, transport: 'https', host: gitHost(url.host) };
  if (url.protocol === 'ssh:' && !url.username.startsWith('-'))
    return { url: url.href, transport: 'ssh', host: gitHost(url.host) };
  if (url.protocol === 'http:') {
    if (options.allowInsecureGit && LOOPBACK.test(url.hostname))
      return { url: url.href, transport: 'http', host: url.host };
    throw new InvalidSpecError(
      'the repository is on plain http, which anybody on the way can change; use https (loopback only: svc-runner run --allow-insecure-git)',
    );
  }
  return refuse('repository', repository, wanted);
}

function gitHost(host: string): string {
  return GIT_HOST.test(host)
    ? host
    : refuse(
        'host of the repository',
        host,
        'letters, digits, dots, dashes and underscores, and a port if any',
      );
}

/** For an existing image only the registry is sent, for its credentials. */
function imageOf(image: WireImageTarget, existing: boolean): ImagePlan {
  const { host = '', namespace = '', repository = '', tag = '' } = image;
  const name = [host, namespace, repository].filter((part) => part !== '').join('/');
  if (!REGISTRY_HOST.test(host)) refuse('image.host', host, 'the host of a registry, with a port if any');
  if (!existing && (repository === '' || tag === ''))
    refuse('image', `${name}:${tag}`, 'host/namespace/repository:tag');
  if (!existing) checkImage(`${name}:${tag}`);
  return {
    host,
    home: namespace === '' ? host : `${host}/${namespace}`,
    name,
    tag,
    ...set('username', image.username),
    ...set('password', image.password),
    insecure: image.insecure === true,
    guarded: image.guarded === true,
    commitInTag: image.commitInTag === true,
    local: image.local === true,
  };
}

/** Digits of the commit in a tag: the control plane expects as many. */
const COMMIT_DIGITS = 7;

/** The tag under which the image of a commit is published. */
export function tagOf({ tag, commitInTag }: ImagePlan, commit: string): string {
  return commitInTag ? `${tag}-${commit.slice(0, COMMIT_DIGITS)}` : tag;
}

/**
 * Makes the beginning of the names of images for which the build may use its credentials: in a registry that
 * teams share, its team's own.
 */
export function reachOf({ host, home, guarded }: ImagePlan): string {
  return `${guarded ? home : host}/`;
}

function deployOf(deploy: WireDeployTarget): DeployPlan {
  const { kind, app, containerPort = 0, hostPort = 0, environmentId = '' } = deploy;
  if (kind !== 'container' && kind !== 'dokku')
    return refuse('deploy.kind', String(kind), 'container or dokku');
  if (!APP.test(app)) refuse('deploy.app', app, '1 to 63 lower-case letters, digits and dashes');
  if (!Number.isInteger(containerPort) || containerPort < 1 || containerPort > 65_535)
    refuse('deploy.containerPort', String(containerPort), '1 to 65535');
  if (!Number.isInteger(hostPort) || hostPort < 0 || hostPort > 65_535)
    refuse('deploy.hostPort', String(hostPort), '0 to 65535');
  if (environmentId !== '' && !ENVIRONMENT.test(environmentId))
    refuse('deploy.environmentId', environmentId, 'an id of 1 to 64 letters, digits, underscores and dashes');
  const mounts = readMounts(deploy.mounts);
  if ('problem' in mounts) throw new InvalidSpecError(`deploy.mounts: ${mounts.problem}`);
  if (mounts.length > 0 && environmentId === '')
    throw new InvalidSpecError('deploy.mounts is set without deploy.environmentId, whose data it is');
  const databases = readDatabases(deploy.databases);
  if ('problem' in databases) throw new InvalidSpecError(`deploy.databases: ${databases.problem}`);
  if (databases.length > 0 && environmentId === '')
    throw new InvalidSpecError('deploy.databases is set without deploy.environmentId, whose data it is');
  return { kind, app, containerPort, hostPort, ...set('environment', environmentId), mounts, databases };
}

function testedWith({ testDatabase }: BuildOffer): Pick<BuildPlan, 'testDatabase'> {
  if (testDatabase === undefined) return {};
  const read = readDatabases([testDatabase]);
  if ('problem' in read) throw new InvalidSpecError(`testDatabase: ${read.problem}`);
  return read[0] === undefined ? {} : { testDatabase: read[0] };
}

function limitsOf(offer: BuildOffer): BuildPlan['limits'] {
  const { timeoutSeconds, memoryMb, cpus, outputBytes } = { ...DEFAULT_LIMITS, ...offer.limits };
  const limits = { timeoutSeconds, memoryMb, cpus, outputBytes };
  checkLimits(limits);
  return limits;
}

function refuse(field: string, value: string, wanted: string): never {
  throw new InvalidSpecError(`${field} is ${quote(value)}, expected ${wanted}`);
}
