/** Wraps what may be wider than the page. It scrolls by itself, also with the keyboard. */
import type { ComponentChildren } from 'preact';

export function Wide({ label, children }: { readonly label: string; readonly children: ComponentChildren }) {
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- nothing in it takes the focus, and without it no key would scroll
    <section class="figures-frame" tabIndex={0} aria-label={label}>
      {children}
    </section>
  );
}
