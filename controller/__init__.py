"""The table controller: understands what happened on the felt and publishes it."""
