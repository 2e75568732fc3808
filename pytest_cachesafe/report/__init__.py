"""The only writers: whatever shows prompt text to a person or a CI goes through here."""
