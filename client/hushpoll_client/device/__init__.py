"""What a device keeps in its file: consent, pinned surveys, the ledger of epsilon, the outbox."""
