/** Builds: a commit of an environment made into an image, published and deployed. */
import { implement } from '@svc/proto/http/implement.ts';
import type { Handlers } from '@svc/proto/http/implement.ts';
import { apiError } from '@svc/proto/http/errors.ts';
import { BuildsService } from '@svc/proto/gen/svc/builds/v1/builds_pb.ts';
import type { Ctx } from '../platform/context.ts';

export function createBuilds(): Handlers<Ctx> {
  const missing = (): never => {
    throw apiError('unavailable', 'not built yet');
  };
  return implement(BuildsService, {
    list: missing,
    get: missing,
    create: missing,
    cancel: missing,
    rollback: missing,
    trace: missing,
    unlock: missing,
    deployApproval: missing,
    streamLogs: missing,
  });
}
