import { Icon } from '../../icons.tsx';
import { currentFilter, isFiltering, setFilter } from './filter.ts';

export function FilterBar({ shown, all }: { readonly shown: number; readonly all: number }) {
  const filter = currentFilter();
  return (
    <div class="filter" role="search" aria-label="Filter features">
      <label class="filter-box">
        <span class="visually-hidden">Filter by key, description, owner or lifecycle</span>
        <Icon of="search" />
        <input
          type="search"
          placeholder="Filter"
          value={filter.text}
          autoComplete="off"
          spellcheck={false}
          onInput={(event) => setFilter({ text: event.currentTarget.value })}
        />
      </label>
      <button
        class="chip"
        type="button"
        aria-pressed={filter.onlyBlocked}
        onClick={() => setFilter({ onlyBlocked: !filter.onlyBlocked })}
      >
        Only blocked
      </button>
      <button
        class="chip"
        type="button"
        aria-pressed={filter.onlyRecent}
        onClick={() => setFilter({ onlyRecent: !filter.onlyRecent })}
      >
        Changed in 7 days
      </button>
      <span class="filter-count" role="status">
        {isFiltering(filter) ? `${shown} of ${all} shown` : ''}
      </span>
    </div>
  );
}
