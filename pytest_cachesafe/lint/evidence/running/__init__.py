"""Whether the code of a report runs: who calls, takes in and renders what."""
