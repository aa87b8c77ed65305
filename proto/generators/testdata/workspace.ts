/** Tests: a temporary workspace with the real options, buf configuration and third-party protos, and any other protos. */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { writeThirdParty } from '../third-party.ts';

export const REPOSITORY = fileURLToPath(new URL('../../..', import.meta.url));
export const FIXTURES = fileURLToPath(new URL('contracts', import.meta.url));

export interface Workspace {
  readonly root: string;
  write(path: string, text: string): void;
  remove(): void;
}

export function createWorkspace(files: Readonly<Record<string, string>> = {}): Workspace {
  const workspace = emptyWorkspace();
  const { root, write } = workspace;
  const copy = (path: string) => write(path, readFileSync(join(REPOSITORY, path), 'utf8'));
  copy('buf.yaml');
  copy('proto/svc/options/v1/options.proto');
  writeThirdParty(root);
  for (const [path, text] of Object.entries(files)) write(path, text);
  return workspace;
}

function emptyWorkspace(): Workspace {
  const root = mkdtempSync(join(tmpdir(), 'svc-contracts-'));
  return {
    root,
    write: (path, text) => {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), text);
    },
    remove: () => rmSync(root, { recursive: true, force: true }),
  };
}

/** Makes a workspace with everything that the other one holds now. */
export function copyWorkspace({ root }: Workspace): Workspace {
  const copy = emptyWorkspace();
  cpSync(root, copy.root, { recursive: true });
  return copy;
}

/** A workspace with the fixture contracts. */
export function createFixtureWorkspace(): Workspace {
  const workspace = createWorkspace();
  cpSync(FIXTURES, join(workspace.root, 'proto'), { recursive: true });
  return workspace;
}
