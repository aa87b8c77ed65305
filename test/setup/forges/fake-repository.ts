/**
 * A repository that the fake hosts serve: files by path, one commit at a time, contents under the names that
 * Git gives them.
 */
import { createHash } from 'node:crypto';
import type { Answer, ForgeRequest } from './fake-forge.ts';

/** Text or bytes of a file, or what is none. */
export type FakeFile = string | Uint8Array | { readonly link: string } | { readonly module: string };

export interface FakeEntry {
  readonly path: string;
  readonly name: string;
  readonly kind: 'file' | 'folder' | 'link' | 'module';
  readonly mode: string;
  readonly id: string;
  readonly bytes: Uint8Array;
}

export interface FakeRepository {
  /** As the host has it: `owner/name`. */
  readonly path: string;
  defaultBranch: string;
  /** With it the repository is private. */
  token?: string;
  /** GitLab's setting. */
  ciConfigPath?: string | null;
  /** Replaces what is there, on the default branch. */
  commit(files: Readonly<Record<string, FakeFile>>): string;
  /** Commit of the default branch. */
  readonly head: string;
  /**
   * Returns what lies directly in a folder, in the order of Git, and undefined where there is no such folder.
   */
  list(folder: string): readonly FakeEntry[] | undefined;
  byId(id: string): FakeEntry | undefined;
  byPath(path: string): FakeEntry | undefined;
}

/** Answer of a host about a repository that the caller may see. */
export type OfRepository = (repository: FakeRepository, asked: ForgeRequest) => Answer;

const sha = (text: string | Uint8Array): string => createHash('sha1').update(text).digest('hex');

export function fakeRepository(path: string, files: Readonly<Record<string, FakeFile>>): FakeRepository {
  let entries: readonly FakeEntry[] = [];
  let head = '';
  const repository: FakeRepository = {
    path,
    defaultBranch: 'main',
    get head() {
      return head;
    },
    commit: (next) => {
      entries = entriesOf(next);
      head = sha(`commit ${JSON.stringify(entries.map((entry) => [entry.path, entry.id]))}`);
      return head;
    },
    list: (folder) => {
      const inside = entries.filter((entry) => entry.path.split('/').slice(0, -1).join('/') === folder);
      return folder === '' || inside.length > 0 ? inside : undefined;
    },
    byId: (id) => entries.find((entry) => entry.id === id),
    byPath: (wanted) => entries.find((entry) => entry.path === wanted),
  };
  repository.commit(files);
  return repository;
}

function entriesOf(files: Readonly<Record<string, FakeFile>>): readonly FakeEntry[] {
  const entries = new Map<string, FakeEntry>();
  for (const [path, file] of Object.entries(files)) {
    const parts = path.split('/');
    for (let length = 1; length < parts.length; length++) {
      const folder = parts.slice(0, length).join('/');
      const id = sha(`tree ${folder} ${JSON.stringify(files)}`);
      const name = parts[length - 1] ?? '';
      entries.set(folder, {
        path: folder,
        name,
        kind: 'folder',
        mode: '040000',
        id,
        bytes: new Uint8Array(),
      });
    }
    entries.set(path, entryOf(path, parts.at(-1) ?? '', file));
  }
  return [...entries.values()].sort((a, b) => Buffer.compare(Buffer.from(a.path), Buffer.from(b.path)));
}

function entryOf(path: string, name: string, file: FakeFile): FakeEntry {
  if (typeof file === 'object' && 'module' in file)
    return { path, name, kind: 'module', mode: '160000', id: sha(file.module), bytes: new Uint8Array() };
  const isLink = typeof file === 'object' && 'link' in file;
  const bytes = isLink ? Buffer.from(file.link) : typeof file === 'string' ? Buffer.from(file) : file;
  const id = sha(Buffer.concat([Buffer.from(`blob ${bytes.length}\0`), bytes]));
  return { path, name, kind: isLink ? 'link' : 'file', mode: isLink ? '120000' : '100644', id, bytes };
}
