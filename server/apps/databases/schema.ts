/** The table holds the databases of environments, which lie on runners' machines. */
import { sql } from 'drizzle-orm';
import { index, jsonb, text, uniqueIndex } from 'drizzle-orm/pg-core';
import {
  DatabaseKind,
  DatabaseKindSchema,
  DatabaseState,
  DatabaseStateSchema,
} from '@svc/proto/gen/svc/databases/v1/databases_pb.ts';
import { DatabaseType, DatabaseTypeSchema } from '@svc/proto/gen/svc/hosting/v1/hosting_pb.ts';
import { id, instant } from '../../base/db/columns.ts';
import { enumColumn, teamTable } from '../../kit/resource/team-table.ts';
import { environments } from '../environments/schema.ts';

/** The newest backup, as the runner says it; see Backup of the contract. */
export interface BackupSaid {
  /** RFC 3339, as `goodAt`. */
  readonly at: string;
  readonly state: 'good' | 'failed';
  readonly problem?: string;
  readonly bytes?: number;
  readonly sha256?: string;
  readonly goodAt?: string;
}

export const databases = teamTable(
  { name: 'databases', kind: 'database', prefix: 'dba', within: { environmentId: environments } },
  {
    environmentId: id('environment_id').notNull(),
    kind: enumColumn('kind', DatabaseKind, DatabaseKindSchema).notNull(),
    type: enumColumn('type', DatabaseType, DatabaseTypeSchema).notNull(),
    image: text('image').notNull(),
    imageVersion: text('image_version').notNull(),
    digest: text('digest'),
    /** Triggers keep of it whether data of the environment lies on its machine. */
    state: enumColumn('state', DatabaseState, DatabaseStateSchema).notNull().default('requested'),
    problem: text('problem'),
    backup: jsonb('backup').$type<BackupSaid>(),
    retainedUntil: instant('retained_until'),
  },
  (t) => [
    uniqueIndex('databases_live')
      .on(t.environmentId, t.kind)
      .where(sql`${t.state} not in ('deleting', 'retained')`),
    index('databases_kept')
      .on(t.retainedUntil)
      .where(sql`${t.retainedUntil} is not null`),
  ],
);
