/** Every feature and what it hands to the system. */
import type { EventEffect } from './engine/outbox/index.ts';
import { counted } from './money/usage/index.ts';
import { notified } from './operations/notifications/index.ts';
import { deliveriesMade } from './operations/webhookendpoints/index.ts';

/** What features do with published events. */
export const eventEffects: readonly EventEffect[] = [counted, notified, deliveriesMade];
