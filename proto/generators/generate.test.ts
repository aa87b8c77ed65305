import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { drift, write } from './generate.ts';
import { OUTPUT_FOLDERS } from './outputs.ts';
import { createWorkspace, type Workspace } from './testdata/workspace.ts';

const OUTPUTS = new Map([
  ['proto/gen/rpcs.ts', 'rpcs'],
  ['sdk/gen/deep/runners.ts', 'runners'],
]);

let workspace: Workspace;
beforeEach(() => {
  workspace = createWorkspace();
});
afterEach(() => workspace.remove());

describe('drift()', () => {
  it('names missing, changed and superfluous files', () => {
    workspace.write('proto/gen/rpcs.ts', 'old');
    workspace.write('cli/gen/gone.ts', 'gone');
    workspace.write('cli/command.ts', 'not generated');
    expect(drift(workspace.root, OUTPUTS)).toEqual([
      { path: 'cli/gen/gone.ts', kind: 'superfluous' },
      { path: 'proto/gen/rpcs.ts', kind: 'changed' },
      { path: 'sdk/gen/deep/runners.ts', kind: 'missing' },
    ]);
  });

  it('is empty after writing, and only generated folders were touched', () => {
    workspace.write('cli/gen/gone.ts', 'gone');
    workspace.write('cli/command.ts', 'not generated');
    write(workspace.root, OUTPUTS, drift(workspace.root, OUTPUTS));
    expect(drift(workspace.root, OUTPUTS)).toEqual([]);
    expect(existsSync(join(workspace.root, 'cli/gen/gone.ts'))).toBe(false);
    expect(readFileSync(join(workspace.root, 'cli/command.ts'), 'utf8')).toBe('not generated');
  });
});

describe('OUTPUT_FOLDERS', () => {
  it('hold generated files and nothing else', () => {
    expect(OUTPUT_FOLDERS).toEqual(['proto/gen', 'sdk/gen', 'cli/gen', 'server/console/gen']);
  });
});
