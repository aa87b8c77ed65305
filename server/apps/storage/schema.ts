/** The table holds the volumes and paths of environments, whose data lies on runners' machines. */
import { sql } from 'drizzle-orm';
import { index, text, uniqueIndex } from 'drizzle-orm/pg-core';
import { MountKind, MountKindSchema } from '@svc/proto/gen/svc/hosting/v1/hosting_pb.ts';
import { StorageState, StorageStateSchema } from '@svc/proto/gen/svc/storage/v1/storage_pb.ts';
import { id, instant } from '../../base/db/columns.ts';
import { enumColumn, teamTable } from '../../kit/resource/team-table.ts';
import { environments } from '../environments/schema.ts';

export const storageMounts = teamTable(
  {
    name: 'storage_mounts',
    kind: 'storage mount',
    prefix: 'mnt',
    within: { environmentId: environments },
  },
  {
    environmentId: id('environment_id').notNull(),
    hostPath: text('host_path').notNull(),
    containerPath: text('container_path').notNull(),
    kind: enumColumn('kind', MountKind, MountKindSchema).notNull(),
    /** Triggers keep of it whether data of the environment lies on its machine. */
    state: enumColumn('state', StorageState, StorageStateSchema).notNull().default('pending_deploy'),
    problem: text('problem'),
    /** Time at which a container had it for the first time; null: there is no data. */
    mountedAt: instant('mounted_at'),
    retainedUntil: instant('retained_until'),
  },
  (t) => [
    uniqueIndex('storage_mounts_host_path').on(t.environmentId, t.hostPath),
    // Deleted storage is in no container that is still to come, so its path is free.
    uniqueIndex('storage_mounts_container_path')
      .on(t.environmentId, t.containerPath)
      .where(sql`${t.state} not in ('detaching', 'retained')`),
    index('storage_mounts_kept')
      .on(t.retainedUntil)
      .where(sql`${t.retainedUntil} is not null`),
  ],
);
