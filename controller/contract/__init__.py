"""The event contract: envelope, topics, schemas and proofs. Imports nothing else of ours."""
