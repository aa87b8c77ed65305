/** Ctrl-K opens this view, which goes to any page, and to anything of the team by its name or id. */
import { signal, useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { Teams, type SearchHit } from '@svc/sdk';
import { client } from '../api.ts';
import { hrefOfKind } from '../generic/hits.ts';
import { Modal } from '../modal.tsx';
import type { Link } from '../navigation.ts';
import { follow, navigate } from '../router.ts';

const teams = new Teams(client);

export const isPaletteOpen = signal(false);

interface PaletteProps {
  readonly teamId: string | undefined;
  readonly pages: readonly Link[];
}

interface Choice {
  readonly href: string;
  readonly title: string;
  readonly kind: string;
}

/** A search is made when somebody has stopped typing for a moment. */
const PAUSE_MS = 150;
const SHOWN_MAX = 12;
const TITLE = 'palette-title';

function useHits(teamId: string | undefined, text: string): readonly SearchHit[] {
  const hits = useSignal<readonly SearchHit[]>([]);
  useEffect(() => {
    if (teamId === undefined || text.trim().length < 2) {
      hits.value = [];
      return;
    }
    const ending = new AbortController();
    const timer = window.setTimeout(() => {
      teams.search(teamId, text.trim(), {}, { signal: ending.signal }).then(
        (found) => (hits.value = found),
        // Pages are found without the server, too.
        () => (hits.value = []),
      );
    }, PAUSE_MS);
    return () => {
      window.clearTimeout(timer);
      ending.abort();
    };
  }, [teamId, text]);
  return hits.value;
}

export function Palette({ teamId, pages }: PaletteProps) {
  const text = useSignal('');
  const frame = useRef<HTMLDivElement>(null);
  const hits = useHits(teamId, text.value);
  const wanted = text.value.trim().toLowerCase();
  const choices: readonly Choice[] = [
    ...pages
      .filter(({ title }) => title.toLowerCase().includes(wanted))
      .map((page) => ({ ...page, kind: 'page' })),
    ...hits.flatMap((hit) => {
      const href = teamId === undefined ? undefined : hrefOfKind(teamId, hit);
      return href === undefined ? [] : [{ href, title: hit.name ?? hit.id, kind: hit.kind }];
    }),
  ].slice(0, SHOWN_MAX);
  const close = (): void => void (isPaletteOpen.value = false);
  return (
    <Modal class="palette" labelledBy={TITLE} onClose={close} lightDismiss>
      <div ref={frame}>
        <h2 id={TITLE} class="visually-hidden">
          Go to
        </h2>
        <input
          aria-label="Page, or name or id of a thing"
          placeholder="Page, name or id"
          autoComplete="off"
          spellcheck={false}
          data-first-focus
          value={text.value}
          onInput={(event) => (text.value = event.currentTarget.value)}
          onKeyDown={(event) => {
            const [first] = choices;
            if (event.key === 'Enter' && first !== undefined) {
              close();
              navigate(first.href);
            } else step(event, frame.current);
          }}
        />
        <ul>
          {choices.map(({ kind, href, title }) => (
            <li key={`${kind} ${href}`}>
              <a
                href={href}
                onKeyDown={(event) => step(event, frame.current)}
                onClick={(event) => {
                  follow(event);
                  close();
                }}
              >
                <span class="brief">{title}</span>
                <span class="muted">{kind}</span>
              </a>
            </li>
          ))}
        </ul>
        <p class="muted" role="status">
          {choices.length === 0 ? 'Nothing of this name or id.' : `${choices.length} found`}
        </p>
      </div>
    </Modal>
  );
}

/** Arrows go from the field through the choices and back. */
function step(event: KeyboardEvent, frame: HTMLElement | null): void {
  const by = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
  if (by === 0 || frame === null) return;
  const all = [...frame.querySelectorAll<HTMLElement>('input, a')];
  all[all.findIndex((each) => each === document.activeElement) + by]?.focus();
  event.preventDefault();
}
