/** Events are declared by features, written down with their cause, and published with their effects. */
export { addEvent } from './add.ts';
export type { NewEvent } from './add.ts';
export { isBehind, publishedUntil } from './behind.ts';
export { effectName, together } from './effects.ts';
export { deliveredEvents, eventsSeenBy, notifyingEvents, scopeOfEvent } from './kinds.ts';
export type { EventKind, EventKinds } from './kinds.ts';
export { startPublishing } from './loops.ts';
export { purgeParked, replayParked } from './parked.ts';
export { publish } from './publish.ts';
export type { PublishDeps } from './publish.ts';
export { outboxParked } from './schema.ts';
