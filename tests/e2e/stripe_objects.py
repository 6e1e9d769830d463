"""The members that Stripe's types require of each object, with the values of a newly created one.
tests/stripe checks them against those types."""


def nulls(names):
    return dict.fromkeys(names.split())


def billing_details():
    return nulls("address email name phone tax_id")


SESSION = {
    "object": "checkout.session",
    **nulls("""adaptive_pricing after_expiration allow_promotion_codes allowed_payment_method_types
        amount_subtotal amount_total billing_address_collection cancel_url client_reference_id
        client_secret collected_information consent consent_collection currency
        currency_conversion customer customer_account customer_creation customer_details
        customer_email discounts integration_identifier invoice invoice_creation locale
        managed_payments metadata origin_context payment_intent payment_link
        payment_method_collection payment_method_configuration_details payment_method_options
        permissions recovered_from saved_payment_method_options setup_intent
        shipping_address_collection shipping_cost status submit_type subscription success_url
        total_details ui_mode url wallet_options"""),
    "automatic_tax": {"enabled": False, **nulls("liability provider status")},
    "custom_fields": [],
    "custom_text": nulls("after_submit shipping_address submit terms_of_service_acceptance"),
    "payment_method_types": ["card"],
    "shipping_options": [],
}

PAYMENT_INTENT = {
    "object": "payment_intent",
    **nulls("""allowed_payment_method_types application application_fee_amount
        automatic_payment_methods canceled_at cancellation_reason client_secret customer
        customer_account description excluded_payment_method_types last_payment_error
        latest_charge managed_payments next_action on_behalf_of payment_method
        payment_method_configuration_details payment_method_options payment_record processing
        receipt_email review setup_future_usage shipping source statement_descriptor
        statement_descriptor_suffix transfer_group"""),
    "amount_capturable": 0,
    "amount_received": 0,
    "capture_method": "automatic",
    "confirmation_method": "automatic",
    "metadata": {},
    "payment_method_types": ["card"],
}

SETUP_INTENT = {
    "object": "setup_intent",
    **nulls("""allowed_payment_method_types application automatic_payment_methods
        cancellation_reason client_secret customer description excluded_payment_method_types
        last_setup_error latest_attempt mandate metadata next_action on_behalf_of payment_method
        payment_method_configuration_details payment_method_options single_use_mandate"""),
    "payment_method_types": ["card"],
    "usage": "off_session",
}

CHARGE = {
    "object": "charge",
    **nulls("""application application_fee application_fee_amount balance_transaction
        calculated_statement_descriptor customer description failure_balance_transaction
        failure_code failure_message fraud_details on_behalf_of outcome payment_intent
        payment_method payment_method_details receipt_email receipt_number receipt_url review
        shipping source source_transfer statement_descriptor statement_descriptor_suffix
        transfer_data transfer_group"""),
    "amount_captured": 0,
    "amount_refunded": 0,
    "billing_details": billing_details(),
    "captured": True,
    "disputed": False,
    "metadata": {},
    "refunded": False,
}

REFUND = {
    "object": "refund",
    **nulls("""balance_transaction charge customer customer_account metadata payment_intent
        payment_method reason receipt_number source_transfer_reversal status
        transfer_reversal"""),
}

DISPUTE = {
    "object": "dispute",
    "balance_transactions": [],
    "enhanced_eligibility_types": [],
    "evidence": {
        **nulls("""access_activity_log billing_address cancellation_policy
            cancellation_policy_disclosure cancellation_rebuttal customer_communication
            customer_email_address customer_name customer_purchase_ip customer_signature
            duplicate_charge_documentation duplicate_charge_explanation duplicate_charge_id
            product_description receipt refund_policy refund_policy_disclosure
            refund_refusal_explanation service_date service_documentation shipping_address
            shipping_carrier shipping_date shipping_documentation shipping_tracking_number
            uncategorized_file uncategorized_text"""),
        "enhanced_evidence": {},
    },
    "evidence_details": {"due_by": None, "enhanced_eligibility": {}, "has_evidence": False,
                         "past_due": False, "submission_count": 0,
                         "submission_method": "not_submitted"},
    "intended_submission_method": None,
    "is_charge_refundable": False,
    "metadata": {},
    "reason": "fraudulent",
}

INVOICE = {
    "object": "invoice",
    **nulls("""account_country account_name account_tax_ids application automatically_finalizes_at
        billing_reason custom_fields customer customer_account customer_address customer_email
        customer_name customer_phone customer_shipping customer_tax_exempt
        default_payment_method default_source description due_date effective_at ending_balance
        footer from_invoice last_finalization_error latest_revision metadata
        next_payment_attempt number on_behalf_of parent receipt_number rendering shipping_cost
        shipping_details statement_descriptor status subtotal_excluding_tax test_clock
        total_discount_amounts total_excluding_tax total_pretax_credit_amounts total_taxes
        webhooks_delivered_at"""),
    "amount_due": 0,
    "amount_overpaid": 0,
    "amount_paid": 0,
    "amount_remaining": 0,
    "amount_shipping": 0,
    "attempt_count": 0,
    "attempted": True,
    "automatic_tax": {"enabled": False,
                      **nulls("disabled_reason liability provider status")},
    "collection_method": "charge_automatically",
    "default_tax_rates": [],
    "discounts": [],
    "issuer": {"type": "self"},
    "lines": {"object": "list", "data": [], "has_more": False, "url": "/v1/invoices/lines"},
    "payment_settings": nulls("default_mandate payment_method_options payment_method_types"),
    "post_payment_credit_notes_amount": 0,
    "pre_payment_credit_notes_amount": 0,
    "starting_balance": 0,
    "status_transitions": nulls("finalized_at marked_uncollectible_at paid_at voided_at"),
}

PAYMENT_METHOD = {
    "object": "payment_method",
    **nulls("customer customer_account metadata"),
    "billing_details": billing_details(),
    "type": "card",
}

CUSTOMER = {
    "object": "customer",
    "balance": 0,
    **nulls("default_source description email shipping"),
    "invoice_settings": nulls("custom_fields default_payment_method footer rendering_options"),
    "metadata": {},
}

WEBHOOK_ENDPOINT = {
    "object": "webhook_endpoint",
    **nulls("application description"),
    "enabled_events": ["*"],
    "metadata": {},
    "status": "enabled",
}
