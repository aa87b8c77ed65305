/** Has the server compute the whole chain again, and says up to which entry it is what was signed. */
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { AuditFinding, ChainReport } from '@svc/sdk';
import { Button } from '../../button.tsx';
import { CopyButton } from '../../copy.tsx';
import { TextField } from '../../field.tsx';
import { Notice, Problem } from '../../notice.tsx';
import { follow, hrefWith } from '../../router.ts';
import { At } from '../../time.tsx';
import { useWork } from '../../use-work.ts';
import { counted } from '../../words.ts';
import { audit } from './calls.ts';

const FINDINGS: Readonly<Record<Exclude<AuditFinding, 'intact'>, string>> = {
  entry_changed: 'The content of an entry does not give its hash: it was changed.',
  entry_missing: 'An entry is missing in the middle.',
  order_broken: 'An entry does not follow the one before it: entries were put in or exchanged.',
  entry_duplicated: 'Two entries have the same place.',
  tail_missing: 'Entries that a checkpoint has seen are gone from the end.',
  rewritten: 'The chain is whole in itself, but not the one that a checkpoint has seen: it was rewritten.',
  checkpoint_invalid: 'The signature of a checkpoint is wrong.',
};

interface Verified {
  readonly report: ChainReport;
  readonly atMs: number;
  readonly kept: number | undefined;
}

export function Verify({ teamId }: { readonly teamId: string }) {
  const seq = useSignal('');
  const hash = useSignal('');
  const verified = useSignal<Verified | undefined>(undefined);
  const { busy, problem, run } = useWork();
  const ending = useRef(new AbortController());
  useEffect(() => () => ending.current.abort(), []);
  const verify = async (): Promise<void> => {
    verified.value = undefined;
    const isKept = seq.value.trim() !== '' || hash.value.trim() !== '';
    if (isKept && !/^[1-9]\d{0,9}$/.test(seq.value.trim()))
      throw new Error('The place is a whole number from 1 on.');
    if (isKept && !/^[0-9a-f]{64}$/.test(hash.value.trim()))
      throw new Error('The hash has 64 hexadecimal digits.');
    const kept = isKept ? { seq: Number(seq.value), hash: hash.value.trim() } : {};
    const { report } = await audit.verify(teamId, { ...kept, signal: ending.current.signal });
    verified.value = { report, atMs: Date.now(), kept: kept.seq };
  };
  return (
    <form
      class="ledger-verify"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void run(verify);
      }}
    >
      <Button text={busy.value ? 'Verifying…' : 'Verify'} submits waits={busy.value} />
      <details class="more">
        <summary>Compare with an entry that you kept</summary>
        <div class="ledger-kept">
          <TextField id="ledger-seq" label="Place" hint="From an export." value={seq} inputMode="numeric" />
          <TextField
            id="ledger-hash"
            label="Hash"
            hint="64 hexadecimal digits."
            value={hash}
            spellcheck={false}
          />
        </div>
      </details>
      <Problem of={problem.value} />
      <div role="status">{verified.value !== undefined && <Report of={verified.value} />}</div>
    </form>
  );
}

function Report({ of: { report, atMs, kept } }: { readonly of: Verified }) {
  const { finding, seq, entries, hash, checkpoints } = report;
  if (finding !== 'intact')
    return (
      <Notice kind="bad">
        <strong>The ledger is not intact.</strong> {FINDINGS[finding]}{' '}
        {seq !== undefined && (
          <a href={hrefWith({ entry: String(seq) })} onClick={follow}>
            Entry {seq.toLocaleString('en')}
          </a>
        )}
      </Notice>
    );
  return (
    <Notice kind="good">
      <strong>✓ Intact up to entry {entries.toLocaleString('en')}.</strong>{' '}
      {counted(entries, 'entry was', 'entries were')} computed again and compared with{' '}
      {counted(checkpoints, 'signed checkpoint', 'signed checkpoints')}
      {kept !== undefined && ` and the entry ${kept.toLocaleString('en')} that you kept`}, at <At ms={atMs} />
      .{' '}
      {hash !== '' && (
        <>
          Its hash is <code>{hash}</code> <CopyButton text={hash} label="Copy the hash" />
        </>
      )}
    </Notice>
  );
}
