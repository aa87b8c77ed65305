/** `?` opens this dialog: where help is, and the keys of the console. */
import { Button } from '../button.tsx';
import { CopyLine } from '../copy.tsx';
import { Modal } from '../modal.tsx';
import { areKeysShown, KEYS } from './keys.ts';

const TITLE = 'keys-title';
const SIGNS: Readonly<Record<string, string>> = { ArrowDown: '↓', ArrowUp: '↑', Escape: 'Esc' };

const isMac = /Mac|iPhone|iPad/.test(navigator.platform);

const signOf = (key: string): string =>
  key === 'Ctrl' && isMac ? '⌘' : key.length === 1 ? key : (SIGNS[key] ?? key);

export function KeysDialog() {
  const close = (): void => void (areKeysShown.value = false);
  return (
    <Modal class="confirm keys" labelledBy={TITLE} onClose={close} lightDismiss>
      <div>
        <h2 id={TITLE}>Help and keys</h2>
        <p>
          Everything here can be done from a terminal, too, and by programs: the API is described at{' '}
          <a href="/openapi.json">/openapi.json</a>.
        </p>
        <CopyLine name="the command for help" text="svc --help" />
        {KEYS.map(({ title, keys }) => (
          <section key={title}>
            <h3>{title}</h3>
            <dl class="keys-list">
              {keys.map(({ press, says }) => (
                <div key={says}>
                  <dt>
                    <Presses of={press} />
                  </dt>
                  <dd>{says}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
        <p class="muted">Keys do nothing while you type in a field.</p>
        <div class="modal-foot">
          <Button text="Close" data-first-focus onClick={close} />
        </div>
      </div>
    </Modal>
  );
}

function Presses({ of }: { readonly of: readonly string[] }) {
  return (
    <>
      {of.map((press, index) => (
        <span key={press}>
          {index > 0 && <span class="muted"> or </span>}
          {press.split(' ').map((key) => (
            <kbd key={key}>{signOf(key)}</kbd>
          ))}
        </span>
      ))}
    </>
  );
}
