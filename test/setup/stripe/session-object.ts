/** Makes the object of a checkout session. */
import type Stripe from 'stripe';
import type { Params } from './forms.ts';
import { nulls } from './nulls.ts';
import type { World } from './world.ts';

export interface Shown {
  readonly mode: 'payment' | 'subscription';
  readonly lines: readonly Stripe.LineItem[];
  readonly expiresAt: number;
}

export function newSession(world: World, params: Params, shown: Shown): Stripe.Checkout.Session {
  const id = world.nextId(world.settings.livemode ? 'cs_live' : 'cs_test');
  const total = shown.lines.reduce((sum, line) => sum + line.amount_total, 0);
  const email = params.text('customer_email') ?? null;
  return {
    ...emptySession(),
    id,
    object: 'checkout.session',
    amount_subtotal: total,
    amount_total: total,
    automatic_tax: {
      ...nulls('liability provider status'),
      enabled: params.child('automatic_tax')?.flag('enabled') ?? false,
    },
    cancel_url: params.text('cancel_url') ?? null,
    client_reference_id: params.text('client_reference_id') ?? null,
    created: world.now(),
    currency: shown.lines[0]?.currency ?? null,
    customer: params.text('customer') ?? null,
    customer_creation:
      shown.mode === 'payment'
        ? (params.choice('customer_creation', ['always', 'if_required']) ?? 'if_required')
        : null,
    customer_email: email,
    expires_at: shown.expiresAt,
    livemode: world.settings.livemode,
    metadata: params.map('metadata') ?? {},
    mode: shown.mode,
    payment_method_collection: shown.mode === 'payment' ? 'if_required' : 'always',
    payment_status: total === 0 ? 'no_payment_required' : 'unpaid',
    status: 'open',
    success_url: params.text('success_url') ?? null,
    url: `${world.origin}/c/pay/${id}`,
  };
}

const emptySession = () => ({
  ...nulls(
    'adaptive_pricing after_expiration allow_promotion_codes allowed_payment_method_types',
    'billing_address_collection client_secret collected_information consent consent_collection',
    'currency_conversion customer_account customer_details integration_identifier invoice',
    'invoice_creation locale managed_payments origin_context payment_intent payment_link',
    'payment_method_configuration_details permissions recovered_from saved_payment_method_options',
    'setup_intent shipping_address_collection shipping_cost submit_type subscription wallet_options',
  ),
  custom_fields: [],
  custom_text: nulls('after_submit shipping_address submit terms_of_service_acceptance'),
  discounts: [],
  payment_method_options: {},
  payment_method_types: ['card'],
  phone_number_collection: { enabled: false },
  shipping_options: [],
  total_details: { amount_discount: 0, amount_shipping: 0, amount_tax: 0 },
  ui_mode: 'hosted_page' as const,
});
