"""The respondent's side: consent, preview, randomisation, ledger, outbox of waiting reports."""
