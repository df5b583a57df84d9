"""What the process itself needs: clocks, logs, and words with systemd."""
