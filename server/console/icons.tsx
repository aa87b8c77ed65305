/** Small drawings beside text; they never carry a meaning alone, so screen readers pass over them. */

const DRAWINGS = {
  on: 'M14.5 8a6.5 6.5 0 1 1-13 0 6.5 6.5 0 0 1 13 0ZM4.5 8l2.2 2.4L11.4 5.6l-1-1-3.7 3.8-1.2-1.3Z',
  off: 'M14.5 8a6.5 6.5 0 1 1-13 0 6.5 6.5 0 0 1 13 0ZM3 8a5 5 0 0 0 10 0A5 5 0 0 0 3 8Z',
  blocked:
    'M14.5 8a6.5 6.5 0 1 1-13 0 6.5 6.5 0 0 1 13 0ZM3.9 10.9l7-7a5 5 0 0 0-7 7Zm1.2 1.2a5 5 0 0 0 7-7Z',
  lock: 'M11.5 6.5V5a3.5 3.5 0 0 0-7 0v1.5h-2v8h11v-8ZM6 5a2 2 0 1 1 4 0v1.5H6Z',
  history:
    'M8 1.8a6.2 6.2 0 0 0-5 2.5V2H1.5v5h5V5.5H4a4.7 4.7 0 1 1-.7 3.7H1.9A6.2 6.2 0 1 0 8 1.8ZM7.3 5v3.6l2.8 1.6.7-1.2-2-1.2V5Z',
  close: 'm8 7 3.5-3.5 1 1L9 8l3.5 3.5-1 1L8 9l-3.5 3.5-1-1L7 8 3.5 4.5l1-1Z',
  warn: 'M8 1.5 15.2 14.5H.8ZM7.2 6v4h1.6V6Zm0 5v1.6h1.6V11Z',
  search:
    'M7 1.8a5.2 5.2 0 1 0 3 9.4l3.2 3.3 1.1-1.1-3.3-3.2A5.2 5.2 0 0 0 7 1.8Zm0 1.5a3.7 3.7 0 1 1 0 7.4 3.7 3.7 0 0 1 0-7.4Z',
} as const;

export function Icon({ of }: { readonly of: keyof typeof DRAWINGS }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
      <path fill-rule="evenodd" d={DRAWINGS[of]} />
    </svg>
  );
}
