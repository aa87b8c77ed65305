/** The contract as it is served: what a switch takes out of it, and that nothing dangles afterwards. */
import { readFileSync } from 'node:fs';
import { Validator } from '@seriousme/openapi-schema-validator';
import { MANIFEST } from '@svc/proto/features/manifest.ts';
import { rpcs } from '@svc/proto/gen/rpcs.ts';
import type { PageResponse } from '@svc/proto/http/door.ts';
import { describe, expect, it } from 'vitest';
import { createContractPage } from './contract-page.ts';

const text = readFileSync(new URL('../../proto/gen/openapi.json', import.meta.url), 'utf8');

interface Contract {
  readonly paths: Record<
    string,
    Record<string, { tags: string[]; 'x-svc-feature'?: string; operationId: string }>
  >;
  readonly tags: readonly { name: string }[];
  readonly components: Record<'schemas' | 'securitySchemes', Record<string, unknown>>;
}

const off = new Set<string>();
const page = createContractPage(text, { state: (key) => (off.has(key) ? 'hidden' : 'open') });

function get(headers: Record<string, string> = {}): PageResponse {
  return page({
    path: '/openapi.json',
    query: '',
    requestId: 'req_1',
    remoteAddress: '127.0.0.1',
    header: (name) => headers[name],
  }) as PageResponse;
}
function served(...hidden: readonly string[]): { text: string; json: Contract; etag: string } {
  off.clear();
  for (const key of hidden) off.add(key);
  const { body, headers } = get();
  return { text: String(body), json: JSON.parse(String(body)) as Contract, etag: headers?.['etag'] ?? '' };
}
const operations = ({ paths }: Contract) => Object.values(paths).flatMap((item) => Object.values(item));
const refs = (json: string) =>
  [...json.matchAll(/"#\/components\/schemas\/([^"]+)"/g)].map(([, name]) => name);

describe('the contract as served', () => {
  it('is the whole contract less the names of internal features while nothing is hidden', () => {
    const full = JSON.parse(text) as Contract;
    const internal: ReadonlySet<string> = new Set<string>(
      MANIFEST.filter((each) => each.visibility === 'internal').map(({ key }) => key),
    );
    for (const operation of operations(full))
      if (internal.has(operation['x-svc-feature'] ?? '')) delete operation['x-svc-feature'];
    expect(served().json).toEqual(full);
  });

  it('shows nothing of hidden runners: no path, tag, schema, scope, signature or name', async () => {
    const { json, text: shown } = served('host.runners');
    const hidden = rpcs.filter(({ feature }) => feature === 'host.runners');
    expect(hidden.length).toBeGreaterThan(10);
    for (const { routes } of hidden)
      for (const { verb, template } of routes)
        expect(
          json.paths[template.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase())]?.[
            verb.toLowerCase()
          ],
        ).toBeUndefined();
    expect(json.tags.map(({ name }) => name)).not.toEqual(expect.arrayContaining(['runners']));
    for (const word of [
      'runner:',
      '"Runners',
      'schemas/Runner',
      'runnerSignature',
      '/runners',
      'x-svc-feature": "host.runners',
      'heartbeat',
    ])
      expect(shown, word).not.toContain(word);
    expect(await new Validator().validate(shown)).toMatchObject({ valid: true });
  });

  it('leaves nothing dangling and nothing behind, whichever features are hidden', () => {
    const keys = [...new Set(rpcs.flatMap(({ feature }) => feature ?? []))];
    for (const hidden of [...keys.map((key) => [key]), keys]) {
      const { json, text: shown } = served(...hidden);
      expect(refs(shown).filter((name) => !(String(name) in json.components.schemas))).toEqual([]);
      const tags = new Set(operations(json).flatMap((operation) => operation.tags));
      expect(new Set(json.tags.map(({ name }) => name))).toEqual(tags);
      const kept = rpcs.filter(
        ({ feature, audience }) => audience !== 'internal' && !hidden.some((key) => key === feature),
      );
      // And where webhooks of CI systems go, which is no RPC.
      const more = hidden.includes('host.ci') ? 0 : 1;
      expect('/ci/webhooks/{hook}' in json.paths).toBe(more === 1);
      expect(operations(json)).toHaveLength(kept.flatMap(({ routes }) => routes).length + more);
    }
  });

  it('has an ETag of its bytes, which follows every switch and comes back with it', () => {
    const [all, less, again] = [served(), served('host.runners'), served()];
    expect(all.etag).toMatch(/^"[\w-]{22}"$/);
    expect(less.etag).not.toBe(all.etag);
    expect(again).toEqual(all);
    for (const known of [all.etag, `W/${all.etag}`, `"other", ${all.etag}`, '*']) {
      const { status, body, headers } = get({ 'if-none-match': known });
      expect([status, body, headers?.['etag']]).toEqual([304, undefined, all.etag]);
    }
    off.add('host.runners');
    expect(get({ 'if-none-match': all.etag })).toMatchObject({ headers: { etag: less.etag } });
    expect(get().headers).toMatchObject({ 'cache-control': 'public, no-cache' });
  });
});
