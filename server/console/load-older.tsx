/** The button below a list that has more: it stays where it is while it loads, so that the focus does. */
interface Props {
  readonly busy: boolean;
  readonly load: () => Promise<void>;
  /** Stands apart from what is above it. */
  readonly apart?: boolean;
}

export function LoadOlder({ busy, load, apart = false }: Props) {
  return (
    <button
      class={apart ? 'button button-wide older' : 'button button-wide'}
      type="button"
      aria-disabled={busy ? 'true' : undefined}
      onClick={() => void load()}
    >
      {busy ? 'Loading…' : 'Load older'}
    </button>
  );
}
