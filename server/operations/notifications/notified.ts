/** This file decides what becomes of events that concern people. */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import type { SqlTag } from '../../base/db/index.ts';
import { notifyingEvents } from '../../kit/events/index.ts';
import { rowId, type Fragment } from '../../base/sql.ts';

/**
 * The CTE `notified` tells the people who can act (admins and owners) of the outbox rows of the CTE
 * `published` that concern people. It tells each once, whatever happens. Events about money and
 * about certificates bring their own words.
 */
export function notified(sql: SqlTag): Fragment {
  const promoted = sql`'The promotion of ' || coalesce(e.payload ->> 'version', '') || ' to ' || coalesce(e.payload ->> 'environmentName', '')`;
  return sql`
    notified as (
      insert into notifications (id, user_id, team_id, event_id, kind, title, body, created_at)
      select ${rowId(sql, 'ntf')}, m.user_id, e.team_id, e.id, e.kind,
        coalesce(e.payload ->> 'title', case e.kind
          when 'runner.degraded' then 'No runner takes the work of ' || t.name
          when 'runner.recovered' then 'The runners of ' || t.name || ' take work again'
          when 'promotion.created' then ${promoted} || ' waits for your approval'
          when 'promotion.failed' then ${promoted} || ' failed'
          when 'compliance.package_ready' then 'A compliance package of ' || t.name || ' waits for its review'
          when 'webhook_endpoint.disabled' then 'The webhook endpoint at ' || coalesce(e.payload ->> 'host', '') || ' was switched off'
          else 'The runner ' || coalesce(e.payload ->> 'name', '') || ' is refused new work'
        end),
        coalesce(e.payload ->> 'body', case e.kind
          when 'runner.degraded' then 'Work waits, and the reason is ' || coalesce(e.payload ->> 'reason', 'not known') || '; svc runners health says what to do.'
          when 'runner.recovered' then 'A runner is in contact and ready; what waited is being offered.'
          when 'promotion.created' then 'svc promotions approve ' || coalesce(e.payload ->> 'promotionId', '') || ' --env ' || coalesce(e.payload ->> 'environmentId', '')
          when 'promotion.failed' then coalesce(e.payload ->> 'reason', '')
          when 'compliance.package_ready' then 'svc compliance mark-legal-reviewed ' || coalesce(e.payload ->> 'packageId', '') || ' --team ' || e.team_id
          when 'webhook_endpoint.disabled' then 'It is told nothing any more, because ' || coalesce(e.payload ->> 'reason', '')
            || '. When it answers again: svc webhook-endpoints update ' || coalesce(e.payload ->> 'endpointId', '') || ' --team ' || e.team_id || ' --enabled'
          else 'Its own durations differed from the measured ones ' || coalesce(e.payload ->> 'strikes', '') || ' times; an owner lets it go on with svc runners clear-divergence-flag.'
        end),
        e.created_at
      from published e
      join teams t on t.id = e.team_id
      join team_members m on m.team_id = e.team_id and m.role in ('admin', 'owner')
      where e.kind = any(${[...notifyingEvents()]}::text[])
      on conflict (user_id, event_id) do nothing
    )`;
}
