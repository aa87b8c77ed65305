/** Takes away what somebody brought about an artifact: the server says who may. */
import type { Artifact, Attestation, SbomList } from '@svc/sdk';
import { Ask } from '../../ask.tsx';
import { artifacts } from './calls.ts';
import { statementName } from './words.ts';

export interface Removal {
  readonly what: string;
  readonly act: () => Promise<unknown>;
}

export const removalOfStatement = (
  { teamId, id }: Artifact,
  { id: statementId, predicateType }: Attestation,
): Removal => ({
  what: `the statement “${statementName({ predicateType })}”`,
  act: async () => await artifacts.removeAttestation(teamId, id, statementId),
});

export const removalOfList = ({ teamId, id }: Artifact, { sha256, packages }: SbomList): Removal => ({
  what: `the uploaded list of ${packages.toLocaleString('en')} packages`,
  act: async () => await artifacts.removeSbom(teamId, id, sha256),
});

export interface RemovalDialogProps {
  readonly removal: Removal;
  /** It is gone. */
  readonly onRemoved: () => void;
  readonly onClose: () => void;
}

export function RemovalDialog({ removal: { what, act }, onRemoved, onClose }: RemovalDialogProps) {
  return (
    <Ask
      title={`Remove ${what}?`}
      verb="Remove"
      danger
      act={async () => {
        await act();
        onRemoved();
        return `Removed ${what}.`;
      }}
      onClose={onClose}
    >
      <p>Policies and passports do not see it any more. The ledger keeps who removed it, and its SHA-256.</p>
    </Ask>
  );
}
