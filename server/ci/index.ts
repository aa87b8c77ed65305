/** Connect: external CI in one timeline. */
import { implement } from '@svc/proto/http/implement.ts';
import type { Handlers } from '@svc/proto/http/implement.ts';
import { CiService } from '@svc/proto/gen/svc/ci/v1/ci_pb.ts';
import type { Clock } from '../platform/clock.ts';
import type { Ctx } from '../platform/context.ts';
import type { Cursors } from '../platform/cursor.ts';
import { connectionMethods } from './connections.ts';
import { readMethods } from './reads.ts';
import { reportMethods } from './reports.ts';

export { startCiHealth } from './health.ts';

export interface CiDeps {
  readonly clock: Clock;
  readonly cursors: Cursors;
}

export function createCi(deps: CiDeps): Handlers<Ctx> {
  return implement(CiService, { ...connectionMethods(deps), ...readMethods(deps), ...reportMethods(deps) });
}
