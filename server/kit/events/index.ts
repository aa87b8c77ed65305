/** Events are declared by features, written down with their cause, and published with their effects. */
export { addEvent } from './add.ts';
export { isBehind, publishedUntil } from './behind.ts';
export { together } from './effects.ts';
export { deliveredEvents, eventsSeenBy, notifyingEvents, scopeOfEvent } from './kinds.ts';
export type { EventKind } from './kinds.ts';
export { startPublishing } from './loops.ts';
export { purgeParked, replayParked } from './parked.ts';
export { publish } from './publish.ts';
export type { PublishDeps } from './publish.ts';
export { outboxParked } from './schema.ts';
