/** A connection as the rest of Connect knows it. */
import type { CiProvider, CommitStatusMode, ConnectionStatus, ForgeId, IngestMode } from '../words.ts';

/** What id_tokens must say besides; empty lists ask for nothing. */
export interface OidcPolicy {
  readonly refs: readonly string[];
  readonly files: readonly string[];
  readonly environments: readonly string[];
}

/** Where the fields of a generic payload are, as JSON pointers, and what its status words mean. */
export interface GenericMapping {
  readonly pointers?: Readonly<Record<string, string>>;
  readonly words?: Readonly<Record<string, string>>;
}

export interface Connection {
  readonly id: string;
  readonly teamId: string;
  readonly provider: CiProvider;
  readonly repositoryHost: string;
  readonly repositoryPath: string;
  /** Host and path in the spelling that they are compared in. */
  readonly repositoryKey: string;
  readonly projectId: string | null;
  readonly defaultBranch: string;
  readonly ingestMode: IngestMode;
  readonly status: ConnectionStatus;
  /** What is wrong, while `status` is `error`. */
  readonly statusDetail: string | null;
  /** Where neither host nor provider tells it; ask forgeOf(). */
  readonly forge: ForgeId | null;
  readonly apiUrl: string | null;
  /** The repository's host asked to be left alone until then. */
  readonly quietUntil: Date | null;
  /** Sealed; see token.ts. */
  readonly token: string | null;
  readonly commitStatusMode: CommitStatusMode;
  readonly commitStatusDetail: string | null;
  /** The host refused statuses altogether; see commit-status/. */
  readonly commitStatusStopped: boolean;
  readonly oidcIssuer: string | null;
  readonly oidcRepositoryId: string | null;
  readonly oidcOwnerId: string | null;
  readonly oidcPinnedAt: Date | null;
  readonly oidcRepositoryPath: string | null;
  readonly oidcPolicy: OidcPolicy | null;
  readonly genericMapping: GenericMapping | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}
