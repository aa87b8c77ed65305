/**
 * Bare repositories are served over HTTP on loopback, by git's own `http-backend`, with or without a
 * password.
 */
import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onLoopback } from './listen.ts';

export interface GitServerOptions {
  username?: string;
  password?: string;
}

export interface RepositoryOptions {
  branch?: string;
  /** True, as by default, where single commits are handed out by their id. */
  anyCommit?: boolean;
}

/** A file's text, or a link's target, or a program, or the commit of a submodule. */
export type TreeEntry =
  | string
  | Buffer
  | { link: string }
  | { program: string | Buffer }
  | { submodule: string };

export type GitServer = Awaited<ReturnType<typeof startGitServer>>;

export async function startGitServer(options: GitServerOptions = {}) {
  const root = mkdtempSync(join(tmpdir(), 'svc-git-'));
  const requests: { line: string; authorization: string | undefined }[] = [];
  const branchesOnly = new Set<string>();
  const kept = new Map<string, string>();
  const server = createServer((request, response) => {
    requests.push({ line: `${request.method} ${request.url}`, authorization: request.headers.authorization });
    if (git.hanging) return;
    // Version 2 of the protocol hands out every commit, whatever the repository's configuration says.
    const old = branchesOnly.has(request.url?.split('/')[1] ?? '');
    if (isAllowed(request, options)) {
      if (request.url?.includes('/lfs/') === true) void serveLfs(kept, request, response);
      else serve(root, request, { response, old });
    } else response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end();
  });
  const { url, close } = await onLoopback(server);
  const git = {
    url,
    /** Every request that arrived: method, path, and whether it brought credentials. */
    requests,
    /** Answers nothing while set; requests hang. */
    hanging: false,
    /** Commits a tree to a new or existing repository; returns address and commit. */
    commit(name: string, tree: Record<string, TreeEntry>, repository: RepositoryOptions = {}) {
      if (repository.anyCommit === false) branchesOnly.add(`${name}.git`);
      return { url: `${url}/${name}.git`, commit: commitTree(root, { name, tree, ...repository }) };
    },
    /** Makes an annotated tag. */
    tag(name: string, tag: string, commit: string): void {
      execFileSync('git', [...AUTHOR, 'tag', '--annotate', '--message=test', tag, commit], {
        cwd: join(root, `${name}.git`),
      });
    },
    /** Keeps the content for Git LFS; returns its pointer. */
    pointerOf(content: string): string {
      const oid = createHash('sha256').update(content).digest('hex');
      kept.set(oid, content);
      return `version https://git-lfs.github.com/spec/v1\noid sha256:${oid}\nsize ${Buffer.byteLength(content)}\n`;
    },
    async stop(): Promise<void> {
      await close();
      rmSync(root, { recursive: true, force: true });
    },
  };
  return git;
}

const AUTHOR = ['-c', 'user.name=test', '-c', 'user.email=test@example.com'];

/** Answers what is asked of the batch call, and the objects that its answer names. */
async function serveLfs(
  kept: ReadonlyMap<string, string>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const asked: Buffer[] = [];
  for await (const chunk of request) asked.push(chunk as Buffer);
  const path = request.url ?? '';
  if (!path.endsWith('/objects/batch'))
    return void response.end(kept.get(path.slice(path.lastIndexOf('/') + 1)));
  const { objects } = JSON.parse(Buffer.concat(asked).toString()) as {
    objects: { oid: string; size: number }[];
  };
  const href = (oid: string) => `http://${request.headers.host}/lfs/${oid}`;
  const answers = objects.map(({ oid, size }) => ({
    oid,
    size,
    ...(kept.has(oid)
      ? { actions: { download: { href: href(oid) } } }
      : { error: { code: 404, message: 'there is no such object' } }),
  }));
  response.setHeader('content-type', 'application/vnd.git-lfs+json');
  response.end(JSON.stringify({ transfer: 'basic', objects: answers }));
}

function isAllowed(request: IncomingMessage, { username, password }: GitServerOptions): boolean {
  if (password === undefined) return true;
  const wanted = `Basic ${Buffer.from(`${username ?? 'git'}:${password}`).toString('base64')}`;
  return request.headers.authorization === wanted;
}

/** Answers a request by what one CGI call has given. */
function serve(
  root: string,
  request: IncomingMessage,
  { response, old }: { readonly response: ServerResponse; readonly old: boolean },
): void {
  const { pathname, search } = new URL(request.url ?? '/', 'http://localhost');
  const child = spawn('git', ['http-backend'], {
    env: {
      PATH: process.env['PATH'],
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: '1',
      PATH_INFO: pathname,
      QUERY_STRING: search.slice(1),
      REQUEST_METHOD: request.method,
      CONTENT_TYPE: request.headers['content-type'],
      GIT_PROTOCOL: old ? undefined : (request.headers['git-protocol'] as string | undefined),
      HTTP_CONTENT_ENCODING: request.headers['content-encoding'],
      REMOTE_USER: 'test',
      HOME: root,
    },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  child.stdin.on('error', () => undefined);
  request.pipe(child.stdin);
  let head: Buffer | undefined = Buffer.alloc(0);
  child.stdout.on('data', (chunk: Buffer) => {
    if (head === undefined) return void response.write(chunk);
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf('\r\n\r\n');
    if (end < 0) return;
    const fields = head
      .subarray(0, end)
      .toString()
      .split('\r\n')
      .map((line): [string, string] => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]);
    const status = fields.find(([name]) => name.toLowerCase() === 'status')?.[1];
    response.writeHead(
      status === undefined ? 200 : Number(status.split(' ')[0]),
      Object.fromEntries(fields.filter(([name]) => name.toLowerCase() !== 'status')),
    );
    response.write(head.subarray(end + 4));
    head = undefined;
  });
  child.on('close', () => response.end());
  response.on('close', () => child.kill());
}

/** A tree is kept for each branch, so that the next commit of the branch needs no clone. */
function commitTree(
  root: string,
  options: { name: string; tree: Record<string, TreeEntry> } & RepositoryOptions,
): string {
  const { name, tree, branch = 'main', anyCommit = true } = options;
  const bare = join(root, `${name}.git`);
  const work = join(root, 'trees', name, branch);
  const git = (...args: string[]): string =>
    execFileSync('git', [...AUTHOR, ...args], {
      cwd: work,
      env: {
        PATH: process.env['PATH'],
        HOME: root,
        GIT_CONFIG_NOSYSTEM: '1',
        GIT_DIR: bare,
        GIT_WORK_TREE: work,
        GIT_INDEX_FILE: `${work}.index`,
      },
      stdio: ['ignore', 'pipe', 'ignore'],
    })
      .toString()
      .trim();
  const isNew = !existsSync(bare);
  mkdirSync(work, { recursive: true });
  if (isNew) execFileSync('git', ['init', '--bare', '--quiet', `--initial-branch=${branch}`, bare]);
  git('config', 'uploadpack.allowAnySHA1InWant', String(anyCommit));
  // Packing the programs of the trees would take longer than all else that git does here.
  git('config', 'core.compression', '0');
  for (const [path, entry] of Object.entries(tree)) write(join(work, path), entry);
  git('add', '--all', '--force');
  for (const [path, entry] of Object.entries(tree))
    if (typeof entry === 'object' && 'submodule' in entry)
      git('update-index', '--add', '--cacheinfo', `160000,${entry.submodule},${path}`);
  const ref = `refs/heads/${branch}`;
  const parent = git('for-each-ref', '--format=%(objectname)', ref);
  const parents = parent === '' ? [] : ['-p', parent];
  const commit = git('commit-tree', git('write-tree'), ...parents, '-m', 'test');
  git('update-ref', ref, commit);
  return commit;
}

function write(path: string, entry: TreeEntry): void {
  mkdirSync(dirname(path), { recursive: true });
  if (typeof entry === 'string' || Buffer.isBuffer(entry)) return writeFileSync(path, entry);
  if ('program' in entry) return writeFileSync(path, entry.program, { mode: 0o755 });
  if ('submodule' in entry) return;
  execFileSync('ln', ['-sfn', entry.link, path]);
}
