/** Link to the trace of a build, for people. */
import type { BuildRow } from './row.ts';

export function traceUrl(
  template: string | undefined,
  publicUrl: string,
  { traceId, id, environmentId }: Pick<BuildRow, 'traceId' | 'id' | 'environmentId'>,
): string {
  if (template !== undefined) return template.replaceAll('{traceId}', traceId);
  const url = new URL('/console/builds', publicUrl);
  url.searchParams.set('env', environmentId);
  url.searchParams.set('build', id);
  return url.href;
}
