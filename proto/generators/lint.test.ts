import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { findBaseline } from './baseline.ts';
import { buildModel } from './build-model.ts';
import { loadImage } from './image.ts';
import { lint } from './lint.ts';
import { printSurface } from './print-surface.ts';
import { copyWorkspace, createFixtureWorkspace, type Workspace } from './testdata/workspace.ts';

const PROTO = 'proto/svc/widgets/v1/widgets.proto';

/** The fixture contracts, committed with their surface and tagged as released. */
let release: Workspace;
/** Each test has a copy of it. */
let workspace: Workspace;

function git(...args: string[]): void {
  execFileSync('git', ['-c', 'user.name=test', '-c', 'user.email=test@localhost', ...args], {
    cwd: workspace.root,
    stdio: 'ignore',
  });
}

function edit(path: string, from: string, to: string): void {
  const text = readFileSync(join(workspace.root, path), 'utf8');
  expect(text).toContain(from);
  workspace.write(path, text.replace(from, to));
}

async function releaseAs(tag: string): Promise<void> {
  workspace.write('proto/gen/surface.json', printSurface(buildModel(await loadImage(workspace.root))));
  git('add', '.');
  git('commit', '-q', '-m', tag);
  git('tag', tag);
}

beforeAll(async () => {
  release = createFixtureWorkspace();
  workspace = release;
  workspace.write('.gitignore', 'third_party/\n');
  git('init', '-q', '-b', 'main');
  await releaseAs('v1.0.0');
});
afterAll(() => release.remove());
beforeEach(() => {
  workspace = copyWorkspace(release);
});
afterEach(() => workspace.remove());

function released() {
  return findBaseline(workspace.root);
}

describe('lint()', () => {
  it('finds nothing when nothing changed', async () => {
    expect(released()?.name).toBe('v1.0.0');
    expect(await lint(workspace.root, released())).toEqual([]);
  });

  it('reports what buf lint finds: a missing comment, an impossible rule', async () => {
    edit(PROTO, '  // Colour.\n', '');
    edit(PROTO, 'in: ["red", "green"]', 'min_len: 30 max_len: 20');
    const findings = (await lint(workspace.root, undefined)).join('\n');
    expect(findings).toContain('Field "colour" should have a non-empty comment for documentation');
    expect(findings).toMatch(/min_len/);
  });

  it('reports a renamed field as a breaking change of the messages', async () => {
    edit(PROTO, 'optional double mass_g = 2;', 'optional double weight_g = 2;');
    const findings = await lint(workspace.root, released());
    expect(findings).toContainEqual(expect.stringContaining('breaks the messages of v1.0.0:'));
    expect(findings).toContain('breaks the surface of v1.0.0: svc.widgets.v1.Size.massG: was removed');
  });

  it('reports a moved path and a renamed method, which buf does not see', async () => {
    edit(PROTO, 'get: "/teams/{team_id}/widgets"', 'get: "/teams/{team_id}/gadgets"');
    edit(PROTO, 'command: "show"', 'command: "print"');
    expect(await lint(workspace.root, released())).toEqual([
      'breaks the surface of v1.0.0: svc.widgets.v1.WidgetsService/Get: the command was "svc widgets show", is "svc widgets print"',
      'breaks the surface of v1.0.0: svc.widgets.v1.WidgetsService/List: the route GET /teams/{teamId}/widgets was removed',
    ]);
  });
});

/** Size goes to a contract of its own, which was not there. */
function moveSize(): void {
  const size = /\/\/ Extent of a widget\.\nmessage Size \{[^}]*\}[^}]*\}\n/;
  const text = readFileSync(join(workspace.root, PROTO), 'utf8');
  const [moved = ''] = size.exec(text) ?? [];
  expect(moved).toContain('mass_g = 2;');
  workspace.write(
    PROTO,
    text
      .replace(moved, '')
      .replaceAll(/^( +(?:optional )?)Size size/gm, '$1svc.sizes.v1.Size size')
      .replace('import "svc/options', 'import "svc/sizes/v1/sizes.proto";\nimport "svc/options'),
  );
  const imports = ['buf/validate/validate.proto', 'google/api/field_behavior.proto'];
  const head = ['syntax = "proto3";', '// Extents.', 'package svc.sizes.v1;'];
  workspace.write(
    'proto/svc/sizes/v1/sizes.proto',
    [...head, ...imports.map((path) => `import "${path}";`), moved].join('\n'),
  );
}

function listMoves(moves: Readonly<Record<string, string>>): void {
  const entries = Object.entries(moves).map(([old, now]) => ({ old, new: now }));
  workspace.write('proto/moved.json', JSON.stringify(entries));
}

const SIZE = { 'svc.widgets.v1.Size': 'svc.sizes.v1.Size' };

describe('a message that went to another package', () => {
  it('is refused unless proto/moved.json lists it', async () => {
    moveSize();
    const findings = await lint(workspace.root, released());
    expect(findings).toContainEqual(
      expect.stringMatching(/breaks the messages of v1\.0\.0: .*message "Size" was deleted from file/),
    );
    expect(findings).toContain(
      'breaks the surface of v1.0.0: svc.widgets.v1.Widget.size: was svc.widgets.v1.Size, is svc.sizes.v1.Size',
    );
    listMoves(SIZE);
    expect(await lint(workspace.root, released())).toEqual([]);
  });

  it('is compared in its new place', async () => {
    moveSize();
    listMoves(SIZE);
    edit('proto/svc/sizes/v1/sizes.proto', 'optional double mass_g = 2;', 'optional double weight_g = 2;');
    const findings = await lint(workspace.root, released());
    expect(findings).toContain('breaks the surface of v1.0.0: svc.sizes.v1.Size.massG: was removed');
    expect(findings).toContainEqual(expect.stringMatching(/breaks the messages .*"mass_g" to "weight_g"/));
  });

  it('may become one with another message that is the same, and with no other', async () => {
    const message = (name: string, field: string) =>
      `// A ${name}.\nmessage ${name} {\n  // Colour.\n  string ${field} = 1;\n}\n\n`;
    const [front, back, side] = [
      message('Front', 'colour'),
      message('Back', 'colour'),
      message('Side', 'shade'),
    ];
    edit(PROTO, '// One widget.\n', `${front}${back}${side}// One widget.\n`);
    const fields = ['Front front = 21', 'Back back = 22', 'Side side = 23'];
    const labels = '  // Labels.\n  map<string, string> labels = 4;\n';
    edit(PROTO, labels, `${labels}${fields.map((field) => `  // Colour.\n  optional ${field};\n`).join('')}`);
    await releaseAs('v1.1.0');
    edit(PROTO, back, '');
    edit(PROTO, 'Back back', 'Front back');
    const same = { 'svc.widgets.v1.Back': 'svc.widgets.v1.Front' };
    listMoves(same);
    expect(await lint(workspace.root, released())).toEqual([]);
    edit(PROTO, side, '');
    edit(PROTO, 'Side side', 'Front side');
    listMoves({ ...same, 'svc.widgets.v1.Side': 'svc.widgets.v1.Front' });
    expect(await lint(workspace.root, released())).toEqual([
      'breaks the messages of v1.1.0: proto/moved.json: svc.widgets.v1.Side was not the same as svc.widgets.v1.Front',
      'breaks the surface of v1.1.0: svc.widgets.v1.Front.shade: was removed',
    ]);
  });

  it('is listed once, and truly', async () => {
    moveSize();
    workspace.write(
      'proto/moved.json',
      `[
        {"old": "svc.widgets.v1.Size", "new": "svc.sizes.v1.Size"},
        {"old": "svc.widgets.v1.Size", "new": "svc.sizes.v1.Extent"},
        {"old": "svc.widgets.v1.Widget", "new": "svc.sizes.v1.Size"}
      ]`,
    );
    expect(await lint(workspace.root, undefined)).toEqual([
      'proto/moved.json: svc.widgets.v1.Size went to svc.sizes.v1.Extent, which no contract has',
      'proto/moved.json: svc.widgets.v1.Size is listed twice',
      'proto/moved.json: svc.widgets.v1.Widget is still there',
    ]);
    workspace.write('proto/moved.json', '[{"old": "svc.widgets.v1.Size"}]');
    await expect(lint(workspace.root, undefined)).rejects.toThrow('proto/moved.json is no list of');
  });
});

describe('findBaseline()', () => {
  it('prefers a wanted revision, then origin/main, then the newest release tag', () => {
    expect(findBaseline(workspace.root, 'HEAD')?.name).toBe('HEAD');
    git('update-ref', 'refs/remotes/origin/main', 'HEAD');
    expect(findBaseline(workspace.root)?.name).toBe('origin/main');
    git('update-ref', '-d', 'refs/remotes/origin/main');
    expect(findBaseline(workspace.root)?.name).toBe('v1.0.0');
    git('tag', '-d', 'v1.0.0');
    expect(findBaseline(workspace.root)).toBeUndefined();
  });

  it('refuses a revision that is not there', () => {
    expect(() => findBaseline(workspace.root, 'nope')).toThrow('baseline "nope" is no commit of');
  });
});
