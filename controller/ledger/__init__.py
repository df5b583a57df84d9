"""The append-only file: outbox, audit trail and the only source of recovery."""
