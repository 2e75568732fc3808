"""Watches the LLM requests that tests make anyway: nothing is answered, replaced or refused."""
