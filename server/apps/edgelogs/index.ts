/**
 * Apps have access and error logs: the runner of a machine tells what its reverse proxy has logged. The
 * service asks no machine, and knows of requests what came.
 */
import { enumWord, shown } from '../../kit/resource/index.ts';
import {
  NginxLogKindSchema,
  NginxLogsResponseSchema,
  NginxMinutesResponseSchema,
} from '@svc/proto/gen/svc/environments/v1/environments_pb.ts';
import { apiError } from '@svc/proto/http/errors.ts';
import { hostLogsPort, workFeature } from '../../engine/work/index.ts';
import { runnersFeature } from '../../engine/runners/index.ts';
import { declareFeature, fill } from '../../kit/feature.ts';
import { domainsFeature, edgeAdvice } from '../domains/index.ts';
import { environmentsFeature, nginxLogsOf, type NginxLogs } from '../environments/index.ts';
import { hostingFeature } from '../hosting/index.ts';
import { purgeLogs } from './purge.ts';
import { readMinutes, readSegments, readSource, type Segment, type Source } from './read.ts';
import type { LogKind } from './schema.ts';
import { createTakeHostLogs } from './take.ts';

const LINES_USUAL = 200;
const MINUTES_USUAL = 60;

const nginxLogs: NginxLogs = {
  lines: async ({ db, teams }, { environmentId, kind: number, lines: max = LINES_USUAL, after }) => {
    // Words of the contract, of which the request has one.
    const kind = enumWord(NginxLogKindSchema, number) as LogKind;
    const source = await readSource(db, teams, { environmentId, kind });
    refuseWithout(source);
    // A position that is ahead is of an installation that was restored.
    const asked = after === undefined ? source.lines - max : Math.min(Number(after), source.lines);
    const from = Math.max(0, asked, source.oldest ?? source.lines);
    const segments = await readSegments(db, teams, { environmentId, kind, from, lines: max });
    const lines = segments.flatMap((segment) => linesOf(segment, from, max));
    const [first, last] = [segments[0], segments.at(-1)];
    // The oldest ones may have gone since they were looked for.
    const gap = after === undefined ? 0 : Math.max(from, first?.position ?? from) - asked;
    return shown(NginxLogsResponseSchema, {
      lines,
      dropped: segments.reduce((sum, segment) => sum + droppedOf(segment, from), gap),
      from: lines[0]?.at,
      to: lines.at(-1)?.at,
      source: source.kind === 'dokku' ? 'dokku' : 'nginx',
      position: String(last === undefined ? from : Math.min(last.position + last.count, from + max)),
    });
  },
  minutes: async ({ db, teams }, { environmentId, minutes = MINUTES_USUAL }) => {
    refuseWithout(await readSource(db, teams, { environmentId, kind: 'access' }));
    return shown(NginxMinutesResponseSchema, {
      minutes: await readMinutes(db, teams, { environmentId, minutes }),
    });
  },
};

/** Returns the lines of a segment that lie within so many behind a position. */
const linesOf = ({ position, lines }: Segment, from: number, max: number) =>
  lines
    .slice(Math.max(0, from - position), from + max - position)
    .map((line) => ({ ...line, at: new Date(line.at) }));

/** A segment that begins before the position was told of already, with what it has left out. */
const droppedOf = ({ position, dropped }: Segment, from: number): number => (position < from ? 0 : dropped);

function refuseWithout({ target, kind, runnerId, hasEdge }: Source): void {
  if (runnerId !== null && hasEdge) return;
  const why =
    runnerId !== null
      ? edgeAdvice({ target, kind })
      : target === null
        ? 'the environment has no deploy target; set one, then build'
        : 'nothing is deployed there yet; build it first';
  throw apiError('edge_unavailable', `nothing tells what the app is asked: ${why}`, {
    details: { resource: 'edge', ...(runnerId !== null && { runnerId }) },
  });
}

export const edgeLogsFeature = declareFeature({
  name: 'edgelogs',
  on: {
    environments: environmentsFeature,
    hosting: hostingFeature,
    work: workFeature,
    runners: runnersFeature,
    domains: domainsFeature,
  },
  contracts: [],
  start: ({ db }, { work: { engine } }) => ({
    purges: [async () => await purgeLogs(db.sql)],
    fills: [fill(nginxLogsOf, nginxLogs), fill(hostLogsPort, createTakeHostLogs(db.sql, engine.settings))],
  }),
});
