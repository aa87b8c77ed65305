export { systemClock } from '@svc/proto/process/clock.ts';
export type { Clock } from '@svc/proto/process/clock.ts';
