/** People and their systems are told things here. */
import type { Area } from '../kit/feature.ts';
import { failuresFeature } from './failures/index.ts';
import { incidentsFeature } from './incidents/index.ts';
import { maintenanceFeature } from './maintenance/index.ts';
import { notificationsFeature } from './notifications/index.ts';
import { webhookEndpointsFeature } from './webhookendpoints/index.ts';

export const operations: Area = {
  name: 'operations',
  features: [
    notificationsFeature,
    webhookEndpointsFeature,
    incidentsFeature,
    maintenanceFeature,
    failuresFeature,
  ],
};
