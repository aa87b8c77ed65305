/** What a browser downloads for the console. */
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { bundleConsole } from '../../server/console/build.mjs';

const GZIPPED_BYTES_MAX = 30 * 1024;

const isMap = (name: string): boolean => name.endsWith('.map');

describe('the bundle', () => {
  it('is at most 30 kB gzipped, scripts and styles together', async () => {
    const files = await bundleConsole();
    const sizes = [...files]
      .filter(([name]) => /\.(js|css)$/.test(name))
      .map(([name, bytes]) => ({ name, bytes: gzipSync(bytes, { level: 9 }).length }));
    expect(sizes.map(({ name }) => name.replace(/-.*\./, '.'))).toEqual(['main.js', 'style.css']);
    const total = sizes.reduce((sum, { bytes }) => sum + bytes, 0);
    console.log(
      `console, gzipped: ${sizes.map(({ name, bytes }) => `${name} ${bytes} B`).join(', ')}, ${total} B`,
    );
    expect(total).toBeLessThanOrEqual(GZIPPED_BYTES_MAX);
  });

  it('has source maps only when asked for', async () => {
    expect([...(await bundleConsole()).keys()].filter(isMap)).toEqual([]);
    expect([...(await bundleConsole({ sourcemap: true })).keys()].filter(isMap)).toHaveLength(2);
  });

  it('names every one of its files, and nothing that a strict policy refuses', async () => {
    const files = await bundleConsole();
    const html = Buffer.from(files.get('index.html') ?? []).toString();
    for (const name of files.keys())
      if (/\.(js|css|svg)$/.test(name)) expect(html).toContain(`/console/assets/${name}`);
    expect(html).not.toMatch(/\{\{|<style|style=|<script(?![^>]*src=)|\son[a-z]+=/);
    const script = Buffer.from([...files].find(([name]) => name.endsWith('.js'))?.[1] ?? []).toString();
    expect(script).not.toMatch(/\beval\(|new Function\(/);
  });
});
