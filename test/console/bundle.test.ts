/** What a browser downloads for the console. */
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { bundleConsole } from '../../server/console/build.mjs';

/** For any one page: what the shell needs and what the page adds. */
const SCRIPTS_BYTES_MAX = 30_000;
const STYLES_BYTES_MAX = 6_000;

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

  it('is at most 30 kB of scripts for any one page, gzipped', () => {
    const shell = named('.js').filter((name) => html.includes(name));
    const pages = named('.js').filter((name) => !html.includes(name));
    expect(pages.map((name) => name.replace(/-\w+\.js$/, '')).sort()).toEqual(['features-page', 'home']);
    const shellBytes = shell.reduce((sum, name) => sum + gzipped(name), 0);
    const sizes = pages.map((name) => ({ name, bytes: shellBytes + gzipped(name) }));
    const styles = named('.css').reduce((sum, name) => sum + gzipped(name), 0);
    console.log(
      `console, gzipped: shell ${shellBytes} B, ${sizes.map(({ name, bytes }) => `with ${name} ${bytes} B`).join(', ')}, styles ${styles} B`,
    );
    for (const { bytes } of sizes) expect(bytes).toBeLessThanOrEqual(SCRIPTS_BYTES_MAX);
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
