/** Small drawings beside text; they never carry a meaning alone, so screen readers pass over them. */

function Icon({ d, name }: { readonly d: string; readonly name: string }) {
  return (
    <svg
      class={`icon icon-${name}`}
      viewBox="0 0 16 16"
      width="16"
      height="16"
      aria-hidden="true"
      focusable="false"
    >
      <path d={d} />
    </svg>
  );
}

export const OnIcon = () => (
  <Icon
    name="on"
    d="M8 1.5a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13Zm3.3 4.9-4 4.3a.8.8 0 0 1-1.1 0L4.6 9.1l1-1.1 1.1 1.1 3.5-3.7Z"
  />
);

export const OffIcon = () => (
  <Icon name="off" d="M8 1.5a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13ZM8 3a5 5 0 1 1 0 10A5 5 0 0 1 8 3Z" />
);

export const BlockedIcon = () => (
  <Icon
    name="blocked"
    d="M8 1.5a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13ZM8 3c1.1 0 2.1.35 2.9.95L3.95 10.9A5 5 0 0 1 8 3Zm0 10c-1.1 0-2.1-.35-2.9-.95l6.95-6.95A5 5 0 0 1 8 13Z"
  />
);

export const LockIcon = () => (
  <Icon
    name="lock"
    d="M8 1.5A3.5 3.5 0 0 0 4.5 5v1.5H4A1.5 1.5 0 0 0 2.5 8v5A1.5 1.5 0 0 0 4 14.5h8a1.5 1.5 0 0 0 1.5-1.5V8A1.5 1.5 0 0 0 12 6.5h-.5V5A3.5 3.5 0 0 0 8 1.5ZM6 5a2 2 0 1 1 4 0v1.5H6Z"
  />
);

export const HistoryIcon = () => (
  <Icon
    name="history"
    d="M8.2 1.8A6.2 6.2 0 0 0 3 4.7V2.5H1.5v5h5V6H4a4.7 4.7 0 1 1-.5 3.2H2A6.2 6.2 0 1 0 8.2 1.8ZM7.5 5v3.6l2.6 1.6.7-1.2L9 7.8V5Z"
  />
);

export const CloseIcon = () => (
  <Icon name="close" d="m8 7 3.5-3.5 1 1L9 8l3.5 3.5-1 1L8 9l-3.5 3.5-1-1L7 8 3.5 4.5l1-1Z" />
);

export const WarnIcon = () => (
  <Icon
    name="warn"
    d="M8 1.6c.5 0 .9.25 1.1.65l5.7 10.2c.5.85-.1 1.95-1.1 1.95H2.3c-1 0-1.6-1.1-1.1-1.95L6.9 2.25C7.1 1.85 7.5 1.6 8 1.6ZM7.25 5.5v4h1.5v-4Zm0 5.2v1.6h1.5v-1.6Z"
  />
);

export const SearchIcon = () => (
  <Icon
    name="search"
    d="M7 1.8a5.2 5.2 0 1 0 3 9.4l3.2 3.3 1.1-1.1-3.3-3.2A5.2 5.2 0 0 0 7 1.8Zm0 1.5a3.7 3.7 0 1 1 0 7.4 3.7 3.7 0 0 1 0-7.4Z"
  />
);
