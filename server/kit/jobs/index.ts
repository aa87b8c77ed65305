/** Background work that must not be lost: rows that any worker claims, retries and ends. */
export { doubling, JobFailed, JobNotYet } from './kind.ts';
export type { Job, JobKind, Payload } from './kind.ts';
export { addJobMetrics } from './metrics.ts';
export {
  addJob,
  hasJobs,
  isJobOpen,
  jobsAdded,
  keyedJobsAdded,
  missingJobsAdded,
  purgeJobs,
  wakeWorkers,
} from './store.ts';
export { createWorker, startWorker } from './worker.ts';
