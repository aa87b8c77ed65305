/** Writes areas.md, which lists the ten areas and where each of their features is found. */
import type { Surface, SurfaceRpc } from '../../proto/generators/surface.ts';
import { code, page, table } from './markdown.ts';

export function areasPage({ areas, rpcs }: Surface): string {
  const services = new Map<string, SurfaceRpc[]>();
  for (const [id, rpc] of Object.entries(rpcs)) {
    const service = id.slice(0, id.indexOf('/'));
    services.set(service, [...(services.get(service) ?? []), rpc]);
  }
  const blocks = Object.entries(areas).flatMap(([area, about]) => {
    const rows = [...services]
      .filter(([, own]) => own[0]?.area === area)
      .map(([name, own]) => row(name, own));
    const title = `## ${area.charAt(0).toUpperCase()}${area.slice(1)}`;
    return [title, about, rows.length === 0 ? 'Nothing of it is built yet.' : table(HEAD, rows)];
  });
  return page('Areas', ABOUT, blocks);
}

const ABOUT =
  'Every feature belongs to one of ten areas. They order the folders of the server, `svc --help`, the tag groups of `/openapi.json`, these documents and the console.';
const HEAD = ['service', 'SDK', 'commands', 'platform feature', 'stability', 'operations'];

function row(service: string, rpcs: readonly SurfaceRpc[]): string[] {
  const [sdk = ''] = distinct(rpcs.map((rpc) => rpc.sdk?.method.split('.')[0]));
  const groups = distinct(rpcs.map((rpc) => rpc.cli?.command.split(' ')[0]));
  const features = distinct(rpcs.map(({ feature }) => feature));
  return [
    code(service),
    code(sdk && `sdk.${sdk}`),
    groups.map((group) => code(`svc ${group}`)).join(', '),
    features.map(code).join(', '),
    distinct(rpcs.map(({ stability }) => stability)).join(', '),
    String(rpcs.length),
  ];
}

function distinct(words: readonly (string | undefined)[]): string[] {
  return [...new Set(words.filter((word) => word !== undefined))].sort();
}
