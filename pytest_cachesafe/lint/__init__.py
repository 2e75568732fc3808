"""The linter: volatile values that reach a system prompt, found in source."""
