/** Measures what a browser downloads for the console. */
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { bundleConsole } from '../../server/console/build.mjs';

/**
 * Most bytes that every page has before it, and that a page adds, with the pieces that it shares with others.
 */
const SHELL_BYTES_MAX = 90_000;
const PAGE_BYTES_MAX = 40_000;
const STYLES_BYTES_MAX = 16_000;
const PAGES = [
  'builds-page',
  'costs-page',
  'statement-page',
  'features-page',
  'home',
  'ledger-page',
  'logs-page',
  'policy-page',
  'releases-page',
  'run-page',
  'runners-page',
  'runs-page',
  'timeline-page',
];

describe('the bundle', () => {
  let files: Map<string, Uint8Array>;
  let html: string;
  beforeAll(async () => {
    files = await bundleConsole();
    html = Buffer.from(files.get('index.html') ?? []).toString();
  });

  const named = (extension: string): string[] => [...files.keys()].filter((name) => name.endsWith(extension));
  const gzipped = (name: string): number => gzipSync(files.get(name) ?? '', { level: 9 }).length;
  const text = (name: string): string => Buffer.from(files.get(name) ?? []).toString();

  /** All that a script imports at once, itself included. */
  const withImports = (name: string, seen = new Set<string>()): Set<string> => {
    if (seen.has(name)) return seen;
    seen.add(name);
    for (const match of text(name).matchAll(/(?:from|import)\s*"\.\/([^"]+)"/g))
      withImports(match[1] ?? '', seen);
    return seen;
  };

  it('is at most 90 kB of scripts for the shell and 40 kB for any one page, gzipped', () => {
    const shell = named('.js').filter((name) => html.includes(name));
    const sum = (names: Iterable<string>): number => [...names].reduce((all, name) => all + gzipped(name), 0);
    const sizes = PAGES.map((page) => {
      const [entry] = named('.js').filter((name) => name.replace(/-\w+\.js$/, '') === page);
      if (entry === undefined) throw new Error(`there is no ${page} among ${named('.js').join(', ')}`);
      return { page, bytes: sum([...withImports(entry)].filter((name) => !shell.includes(name))) };
    });
    const styles = sum(named('.css'));
    console.log(
      `console, gzipped: shell ${sum(shell)} B, ${sizes.map(({ page, bytes }) => `${page} ${bytes} B`).join(', ')}, styles ${styles} B`,
    );
    expect(sum(shell)).toBeLessThanOrEqual(SHELL_BYTES_MAX);
    for (const { bytes } of sizes) expect(bytes).toBeLessThanOrEqual(PAGE_BYTES_MAX);
    expect(styles).toBeLessThanOrEqual(STYLES_BYTES_MAX);
  });

  it('has source maps only when asked for', async () => {
    expect(named('.map')).toEqual([]);
    const mapped = [...(await bundleConsole({ sourcemap: true })).keys()];
    expect(mapped.filter((name) => name.endsWith('.map'))).toHaveLength(
      named('.js').length + named('.css').length,
    );
  });

  it('loads what the shell needs at once, and nothing that a strict policy refuses', () => {
    const asked = [...html.matchAll(/(?:href|src)="\/console\/assets\/([^"]+)"/g)].map(
      (match) => match[1] ?? '',
    );
    for (const name of asked) expect([...files.keys()]).toContain(name);
    const [main = ''] = named('.js').filter((name) => name.startsWith('main-'));
    const imported = [...text(main).matchAll(/from"\.\/([^"]+)"/g)].map((match) => match[1] ?? '');
    expect(imported.length).toBeGreaterThan(0);
    for (const name of [main, ...imported, ...named('.css'), ...named('.svg')]) expect(asked).toContain(name);
    expect(html).not.toMatch(/\{\{|<style|style=|<script(?![^>]*src=)|\son[a-z]+=/);
    for (const name of named('.js')) expect(text(name)).not.toMatch(/\beval\(|new Function\(/);
  });
});
