/** What is asked of repositories' hosts in the background. */

import { commitStatusHandler } from '../commit-status/handler.ts';
import { discoverHandler } from '../discovery/index.ts';
import { pollHandler } from '../health-poll.ts';
import { subscribeHandler, unsubscribeHandler } from './subscriptions.ts';
import type { SubscriptionDeps } from './subscriptions.ts';
import { startTasks } from './worker.ts';
import type { TaskHandlers } from './worker.ts';
import type { Loop } from '../../../platform/loop.ts';

export type CiTasksDeps = SubscriptionDeps;

/** Every kind of task has its handler here. */
export function taskHandlers(deps: CiTasksDeps): Required<TaskHandlers> {
  return {
    commit_status: commitStatusHandler(deps),
    discover: discoverHandler(deps),
    poll_run: pollHandler(deps),
    subscribe: subscribeHandler(deps),
    unsubscribe: unsubscribeHandler(deps),
  };
}

export function startCiTasks(deps: CiTasksDeps & { onError(error: unknown): void }): Loop {
  const { db, clock, onError } = deps;
  return startTasks({ db, clock, onError, handlers: taskHandlers(deps) });
}
