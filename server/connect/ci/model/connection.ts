/** A connection as the rest of Connect knows it. */
import type { CiProvider, CommitStatusMode, ConnectionStatus, ForgeId, IngestMode } from '../words.ts';

/** Claims that id_tokens must have besides the repository; empty lists demand nothing. */
export interface OidcPolicy {
  readonly refs: readonly string[];
  readonly files: readonly string[];
  readonly environments: readonly string[];
}

/** Places of the fields of a generic payload, as JSON pointers, and the meaning of its statuses. */
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
  /** The problem, while `status` is `error`. */
  readonly statusDetail: string | null;
  /** Set where neither host nor provider decides it; ask forgeOf(). */
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
