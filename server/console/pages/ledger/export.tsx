/** Saves the whole ledger as a file of a line an entry, as it comes, and can be ended before its end. */
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { Operation } from '@svc/sdk';
import { client } from '../../api.ts';
import { Button } from '../../button.tsx';
import { CopyLine } from '../../copy.tsx';
import { collection } from '../../gen/team-audit.ts';
import { Notice, Problem } from '../../notice.tsx';
import { saveFile } from '../../save-file.ts';
import { useWork } from '../../use-work.ts';

/** A browser keeps the file in memory until it is whole. The command line writes it as it comes. */
const BYTES_MAX = 256 * 1_048_576;
const MIB = 1_048_576;

const operation = collection.acts.find(({ id }) => id === 'audit.export')?.operation;

type Read = { readonly parts: BlobPart[] } | 'ended' | 'too large';

async function readAll(
  of: Operation,
  teamId: string,
  { signal, onBytes }: { readonly signal: AbortSignal; readonly onBytes: (bytes: number) => void },
): Promise<Read> {
  const headers = { accept: 'application/x-ndjson' };
  const parts: BlobPart[] = [];
  let bytes = 0;
  try {
    for await (const part of client.byteStream(of, { teamId }, { signal, headers })) {
      bytes += part.length;
      if (bytes > BYTES_MAX) return 'too large';
      parts.push(new Uint8Array(part));
      onBytes(bytes);
    }
  } catch (error) {
    if (signal.aborted) return 'ended';
    throw error;
  }
  return { parts };
}

export function Export({ teamId }: { readonly teamId: string }) {
  const bytes = useSignal(0);
  const isTooLarge = useSignal(false);
  const ending = useRef<AbortController | undefined>(undefined);
  const { busy, problem, run } = useWork();
  useEffect(() => () => ending.current?.abort(), []);
  const save = async (): Promise<void> => {
    if (operation === undefined) return;
    bytes.value = 0;
    isTooLarge.value = false;
    const { signal } = (ending.current = new AbortController());
    const read = await readAll(operation, teamId, { signal, onBytes: (now) => (bytes.value = now) });
    if (read === 'too large') isTooLarge.value = true;
    else if (read !== 'ended')
      saveFile(`audit-${teamId}.ndjson`, read.parts, { type: 'application/x-ndjson' });
  };
  return (
    <div class="ledger-export">
      <div class="bar-buttons">
        <Button
          text={busy.value ? 'Exporting…' : 'Export'}
          waits={busy.value}
          onClick={() => void run(save)}
        />
        {busy.value && <Button text="Cancel" onClick={() => ending.current?.abort()} />}
        <span class="muted" role="status">
          {busy.value && `${(bytes.value / MIB).toFixed(1)} MiB`}
        </span>
      </div>
      <Problem of={problem.value} />
      {isTooLarge.value && (
        <Notice kind="warn" role="alert">
          The ledger has more than {BYTES_MAX / MIB} MiB, which is too much for a page. The command line
          writes it to a file as it comes:
          <CopyLine name="the command" text={`svc audit export --team ${teamId} -o jsonl > audit.ndjson`} />
        </Notice>
      )}
    </div>
  );
}
