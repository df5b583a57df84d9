"""What can be played at a rehearsal: recorded hands and scenarios, both as acts."""
