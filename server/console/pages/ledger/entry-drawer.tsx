/** Shows one entry of the ledger with its particulars and hashes, beside the list. */
import type { AuditEntry } from '@svc/sdk';
import { useRead } from '../../cache.ts';
import { collection } from '../../gen/team-audit.ts';
import { Facts } from '../../generic/value.tsx';
import { Drawer } from '../../modal.tsx';
import { Unread } from '../../reading.tsx';
import { follow, hrefWith, setParams } from '../../router.ts';
import { searchHref } from './filter.ts';
import { readEntry } from './calls.ts';

function Entry({ of }: { readonly of: AuditEntry }) {
  const { target, actor } = of;
  return (
    <div class="ledger-entry">
      <Facts of={{ ...of }} shown={collection.shown} />
      <p class="ledger-steps">
        <a href={searchHref({ target })} onClick={follow}>
          All about this target
        </a>
        <a href={searchHref({ actorId: actor.id })} onClick={follow}>
          All by this actor
        </a>
      </p>
    </div>
  );
}

interface EntryDrawerProps {
  readonly teamId: string;
  readonly seq: number;
}

export function EntryDrawer({ teamId, seq }: EntryDrawerProps) {
  const read = useRead(`ledger entry ${teamId} ${seq}`, async () => ({
    entry: await readEntry(teamId, seq),
  }));
  const known = read.data.value;
  return (
    <Drawer
      id="ledger-entry"
      title={`Entry ${seq.toLocaleString('en')}`}
      onClose={() => setParams({ entry: undefined })}
    >
      {known === undefined ? (
        <Unread of={read} what="the entry" />
      ) : known.entry === undefined ? (
        <p>The ledger has no entry at this place.</p>
      ) : (
        <Entry of={known.entry} />
      )}
      <nav class="ledger-steps" aria-label="Other entries">
        {seq > 1 && (
          <a href={hrefWith({ entry: String(seq - 1) })} onClick={follow}>
            The entry before
          </a>
        )}
        {known?.entry !== undefined && (
          <a href={hrefWith({ entry: String(seq + 1) })} onClick={follow}>
            The entry after
          </a>
        )}
      </nav>
    </Drawer>
  );
}
